// An operator instance: an operator with ranks and parameters fixed, sizes still symbolic. Immutable; made and interned
// by Library::instantiate. It holds the type rule, the meaning of every output, and the ONNX mapping of this instance.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "algebra/language/expression.h"

namespace rulemill::algebra {

enum class InstanceId : std::uint32_t {};

/// Stands for any number, or any list of numbers, from `least` on, 0 or 1: the parameter is a size of the node instead,
/// one more than the number where that may be 0, since sizes are at least 1.
struct Open {
  std::int64_t least = 1;
  auto operator<=>(const Open&) const = default;
};

/// A parameter's value: an integer, a word of an enumeration, a list, or open.
using ParameterValue = std::variant<std::int64_t, std::string, std::vector<std::int64_t>, Open>;
using Parameters = std::map<std::string, ParameterValue>;
std::string to_string(const ParameterValue& value);

/// How an input of which a pack is repeated (`b[d... by spread]`) has each of its dimensions: whole, with one element
/// for all, or not at all. A parameter of this kind lists them; empty: all whole.
constexpr std::int64_t spread_whole = 0, spread_one = 1, spread_absent = 2;

/// What the elements of an input or an output are. Numbers are of any float type, all of them of one; truths are 0 and
/// 1, integers whole numbers. The algebra computes on all of them as real numbers. Positives, of an output alone: any
/// tensor of numbers above 0 is what the operator makes of one tensor; see is_positives.
enum class ElementKind : std::uint8_t { Numbers, Truths, Integers, Positives };

/// One tensor that the instance computes: 0 ≤ index[d] < dims[d], element = body. Output indices have slots 0 … rank−1.
struct TensorDefinition {
  std::string name;
  std::vector<IndexExprPtr> dims;  // over size slots
  ScalarExprPtr body;
  ElementKind kind = ElementKind::Numbers;
};

/// An attribute or constant input of an ONNX node, as expressions over size slots, a word, or a number.
struct OnnxValue {
  bool is_list = false;
  std::vector<IndexExprPtr> values;
  std::optional<std::string> word;
  std::optional<double> number;           // a float attribute
  std::optional<std::uint32_t> argument;  // the instance's input of rank 0 that has this value
  IndexExprPtr wrapped;                   // negative numbers of the node count from here
  IndexExprPtr clamped;                   // the same, and what is beyond is here
  bool reals = false;                     // whole numbers, written as a float32 tensor
  bool shape = false;                     // 0 is the first input's dimension, -1 what is left
  bool kind = false;                      // ONNX's number of the first input's element type
};

struct OnnxAttribute {
  std::string name;
  OnnxValue value;
  /// What an absent attribute means: every element equals this; `any` if its absence always matches.
  std::optional<double> absent;
  std::optional<std::string> absent_word;
  bool absent_any = false;
  bool ignored = false;  // any value, or none, says the same; never written
};

/// An input of the ONNX node: one of the instance's inputs, or an integer constant.
struct OnnxInput {
  std::optional<std::uint32_t> argument;
  bool absent = false;
  OnnxValue constant;
};

/// How one ONNX node says this instance. `since` and `until` bound the opset; `variadic` lets the node take more than
/// two inputs, as a left fold; `variadic_outputs` lets it give more than two, the first of two split again. `wrapper`:
/// an ONNX operator applied to the result (a fused activation).
struct OnnxMapping {
  std::uint32_t number = 0;  // among the operator's mappings
  std::string op_type;
  int since = 1;
  int until = 1 << 20;  // exclusive
  bool variadic = false;
  bool variadic_outputs = false;
  std::vector<OnnxInput> inputs;
  std::vector<OnnxAttribute> attributes;
  std::optional<std::string> wrapper;
  /// Size slots that the node does not say but that follow: over the size slots and, after them, the number of outputs.
  std::vector<std::pair<std::uint32_t, IndexExprPtr>> sizes;
};

/// One operator application inside a composite. Arguments count the composite's inputs first, then earlier steps'
/// results (first outputs); sizes are over the composite's size slots.
struct CompositeStep {
  InstanceId instance{};
  std::vector<std::uint32_t> arguments;
  std::vector<IndexExprPtr> sizes;
};

/// A parameter that is open: its `count` numbers are size parameters from `first` on, counted among those of a node.
struct OpenParameter {
  std::string name;
  std::uint32_t first = 0, count = 0;
  bool is_list = false;
  std::int64_t least = 1;

  /// The size for a number, and back.
  template <class Number>
  Number size_of(const Number& number) const {
    return number + Number(1 - least);
  }
  template <class Number>
  Number number_of(const Number& size) const {
    return size - Number(1 - least);
  }
};

struct Instance {
  InstanceId id{};
  std::string name;  // canonical: conv2d{act=relu,pad=same,stride=1}
  std::string operator_name;
  Parameters parameters;
  bool commutative = false;  // the two inputs may be exchanged: declared in the definition and shown from it
  std::vector<std::string> input_names;
  std::vector<ElementKind> input_kinds;

  /// Size slots: those bound by input dimensions first, then the size parameters that a node must give: sizes of the
  /// definition, then open parameters, both as it declares them.
  std::vector<std::string> size_names;
  std::uint32_t first_size_parameter = 0;
  std::vector<OpenParameter> open;
  std::uint32_t size_parameter_count() const {
    return static_cast<std::uint32_t>(size_names.size()) - first_size_parameter;
  }

  /// inputs[i][d]: dimension d of input i, a Size slot or a Constant. A slot met twice demands equal dimensions.
  std::vector<std::vector<IndexExprPtr>> inputs;
  std::vector<Comparison> conditions;           // over size slots; "a % b = 0" says that b divides a
  std::vector<TensorDefinition> intermediates;  // may read inputs and earlier intermediates
  std::vector<TensorDefinition> outputs;        // may read inputs and intermediates
  std::uint32_t index_slots = 0;                // how many index slots any body uses
  std::vector<OnnxMapping> onnx;                // alternatives, first that fits wins
  /// An operator that is defined by others: the steps, the last of which is the result. Its bodies are theirs, inlined,
  /// so it can be run and proved like any other; models are imported as the steps and exported as the whole.
  std::vector<CompositeStep> composite;
};

/// Whether its output, of its one input's shape, can be any tensor of positive numbers and nothing else. So what holds
/// of `positive(c)` for all c holds of all that is positive, and of nothing else.
inline bool is_positives(const Instance& instance) {
  return instance.outputs.size() == 1 && instance.outputs[0].kind == ElementKind::Positives;
}

/// The type rule at concrete sizes: output shapes, or nothing if the arguments do not type: no tensor of more than 2^62
/// elements does.
/// `size_parameters` are the node's, in slot order. `sizes_out`, if given, receives the value of every size slot.
std::optional<std::vector<std::vector<std::int64_t>>> infer(const Instance& instance,
                                                            std::span<const std::vector<std::int64_t>> inputs,
                                                            std::span<const std::int64_t> size_parameters,
                                                            std::vector<std::int64_t>* sizes_out = nullptr);

/// The type rule on symbolic shapes: output shapes if the arguments type and every condition holds for all sizes of at
/// least 1 (by normal form and Symbols::nonnegative); nothing otherwise. `facts` are polynomials known to be ≥ 0.
std::optional<std::vector<Shape>> infer(const Instance& instance, std::span<const Shape> inputs,
                                        std::span<const Poly> size_parameters, Symbols& symbols,
                                        std::span<const Poly> facts = {}, std::vector<Poly>* sizes_out = nullptr);

}  // namespace rulemill::algebra
