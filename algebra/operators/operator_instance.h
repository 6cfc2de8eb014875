// An operator instance: an operator with ranks and parameters fixed and sizes symbolic. Immutable; created and interned
// by Library::instantiate. It holds the type rule, the definition of every output, and the ONNX mappings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "algebra/operators/expression.h"

namespace rulemill::algebra {

enum class InstanceId : std::uint32_t {};

/// The value of a symbolic parameter: any number, or any list of numbers, of at least `min_value`, which is 0 or 1.
/// The parameter becomes a size of the node. Sizes are at least 1, so the size is number + 1 if `min_value` is 0.
struct Symbolic {
  std::int64_t min_value = 1;
  auto operator<=>(const Symbolic&) const = default;
};

/// A parameter's value: an integer, an enum value, a list, or symbolic.
using ParameterValue = std::variant<std::int64_t, std::string, std::vector<std::int64_t>, Symbolic>;
using Parameters = std::map<std::string, ParameterValue>;
enum class ParameterKind : std::uint8_t { Size, Sizes, Int, Ints, Enum, Axis, Axes, NewAxes, Permutation, Spread };
std::string to_string(const ParameterValue& value);

/// How a broadcast input (`b[d... by spread]`) has each dimension of its pack: whole, with extent 1, or not at all. A
/// parameter of kind Spread lists one of these per dimension; empty means all whole.
constexpr std::int64_t spread_whole = 0, spread_one = 1, spread_absent = 2;

/// The kind of the elements of an input or output. Real stands for any float type, the same for all Real tensors of an
/// instance; Bool for 0 and 1. The algebra computes on all kinds as real numbers. Positive is for outputs only: every
/// tensor of numbers above 0 is the operator's output for exactly one input; see is_positive_operator.
enum class ScalarKind : std::uint8_t { Real, Bool, Int, Positive };

/// A tensor that the instance computes: 0 ≤ index[d] < dims[d], element = body. Its indices have slots 0 … rank−1.
struct TensorDefinition {
  std::string name;
  std::vector<IndexExprPtr> dims;  // over size slots
  ScalarExprPtr body;
  ScalarKind scalar_kind = ScalarKind::Real;
};

/// The value of an attribute or constant input of an ONNX node: expressions over size slots, a string or a float.
struct OnnxValue {
  bool is_list = false;
  std::vector<IndexExprPtr> values;
  std::optional<std::string> string_value;
  std::optional<double> float_value;          // a float attribute
  std::optional<std::uint32_t> scalar_input;  // the instance's input of rank 0 that has this value
  IndexExprPtr wrap_size;                     // v < 0 in the node means v + wrap_size
  IndexExprPtr clamp_size;                    // the same, then clamped to 0 … clamp_size
  bool as_float32 = false;                    // integers, written as a float32 tensor
  bool is_reshape_shape = false;              // as of Reshape: 0 copies the input's dimension, -1 is inferred
  bool is_data_type = false;                  // the ONNX data type of the first input
};

struct OnnxAttribute {
  std::string name;
  OnnxValue value;
  /// The value of an absent attribute: every element equals this. If `is_optional`, absence matches every value.
  std::optional<double> default_number;
  std::optional<std::string> default_string;
  bool is_optional = false;
  bool ignored = false;  // has no effect: any value matches, and it is never written
};

/// An input of the ONNX node: one of the instance's inputs, or an integer constant.
struct OnnxInput {
  std::optional<std::uint32_t> instance_input;
  bool is_absent = false;
  OnnxValue constant;
};

/// How one ONNX node encodes this instance. `since` and `until` bound the opset. `variadic`: the node may have more
/// than two inputs, as a left fold. `variadic_outputs`: it may have more than two outputs; the first of two is split
/// again. `activation`: an ONNX operator applied to the result (a fused activation).
struct OnnxMapping {
  std::uint32_t index = 0;  // among the operator's mappings
  std::string op_type;
  std::string domain;  // empty: ONNX's own
  int since = 1;
  int until = 1 << 20;  // exclusive
  bool variadic = false;
  bool variadic_outputs = false;
  std::vector<OnnxInput> inputs;
  std::vector<OnnxAttribute> attributes;
  std::optional<std::string> activation;
  /// Size slots that are not in the node but follow, as expressions over the size slots and, after them, the number of
  /// outputs.
  std::vector<std::pair<std::uint32_t, IndexExprPtr>> computed_sizes;
};

/// One operator application inside a composite. Arguments number the composite's inputs first, then the first outputs
/// of earlier steps. Sizes are over the composite's size slots.
struct CompositeStep {
  InstanceId instance{};
  std::vector<std::uint32_t> arguments;
  std::vector<IndexExprPtr> sizes;
};

/// A symbolic parameter: its `count` numbers are the node's size parameters `first` … `first + count − 1`.
struct SymbolicParameter {
  std::string name;
  std::uint32_t first = 0, count = 0;
  bool is_list = false;
  std::int64_t min_value = 1;  // as in Symbolic

  template <class Number>
  Number to_size(const Number& number) const {
    return number + Number(1 - min_value);
  }
  template <class Number>
  Number to_number(const Number& size) const {
    return size - Number(1 - min_value);
  }
};

struct OperatorInstance {
  InstanceId id{};
  std::string name;  // canonical: conv2d{act=relu,pad=same,stride=1}
  std::string operator_name;
  Parameters parameters;
  bool commutative = false;  // declared in the definition, and shown from it
  std::vector<std::string> input_names;
  std::vector<ScalarKind> input_scalar_kinds;

  /// Size slots: first those bound by input dimensions, then the size parameters, which each node specifies: the sizes,
  /// then the symbolic parameters, both in the order of declaration.
  std::vector<std::string> size_names;
  std::uint32_t first_size_parameter = 0;
  std::vector<SymbolicParameter> symbolic_parameters;
  std::uint32_t size_parameter_count() const {
    return static_cast<std::uint32_t>(size_names.size()) - first_size_parameter;
  }
  /// The number of size parameters that are not symbolic parameters; those follow.
  std::uint32_t declared_size_count() const {
    return symbolic_parameters.empty() ? size_parameter_count() : symbolic_parameters[0].first;
  }

  /// inputs[i][d]: dimension d of input i, a Size slot or a Constant. A slot that occurs twice requires equal
  /// dimensions.
  std::vector<std::vector<IndexExprPtr>> inputs;
  std::vector<Comparison> conditions;           // over size slots; "a % b = 0": b divides a
  std::vector<TensorDefinition> intermediates;  // may read inputs and earlier intermediates
  std::vector<TensorDefinition> outputs;        // may read inputs and intermediates
  std::uint32_t index_slots = 0;                // maximum over the bodies
  std::vector<OnnxMapping> onnx;                // alternatives; the first that fits is used
  /// The steps of an operator that is defined by others; the last is the result. The bodies are inlined, so that it is
  /// run and proved like any other. Models are imported as the steps and exported as the composite.
  std::vector<CompositeStep> composite;
};

/// Whether the possible outputs, of the one input's shape, are exactly the tensors of positive numbers. Then a
/// statement about `positive(c)` for all c is one about all positive tensors.
inline bool is_positive_operator(const OperatorInstance& instance) {
  return instance.outputs.size() == 1 && instance.outputs[0].scalar_kind == ScalarKind::Positive;
}

/// Applies the type rule at concrete sizes. Returns the output shapes, or nullopt if the inputs are ill-typed or an
/// output has more than 2^62 elements. `size_parameters` are the node's, in slot order. `sizes_out`, if given, receives
/// the value of every size slot.
std::optional<std::vector<std::vector<std::int64_t>>> infer(const OperatorInstance& instance,
                                                            std::span<const std::vector<std::int64_t>> inputs,
                                                            std::span<const std::int64_t> size_parameters,
                                                            std::vector<std::int64_t>* sizes_out = nullptr);

/// Applies the type rule to symbolic shapes. Returns the output shapes if the inputs are well-typed and every condition
/// holds for all sizes of at least 1 (by normal form and Symbols::is_nonnegative). `facts` are polynomials ≥ 0.
std::optional<std::vector<Shape>> infer(const OperatorInstance& instance, std::span<const Shape> inputs,
                                        std::span<const Poly> size_parameters, Symbols& symbols,
                                        std::span<const Poly> facts = {}, std::vector<Poly>* sizes_out = nullptr);

}  // namespace rulemill::algebra
