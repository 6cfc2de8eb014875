// An ONNX mapping as far as it can be said before ranks and parameters are fixed: which inputs and attributes stand for
// which inputs, parameters and sizes of the operator. With it a model's node is read, not guessed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rulemill::algebra {

namespace syntax {
struct Operator;
}

enum class ParameterKind : std::uint8_t { Size, Sizes, Int, Ints, Words, Axis, Axes, NewAxes, Permutation, Spread };

struct OnnxForm {
  struct Parameter {
    std::string name;
    ParameterKind kind;
    std::string pack;  // Ints: one for each dimension of it
    bool has_default = false;
  };
  /// One entry of a value: what it names, or nothing that can be read off.
  struct Entry {
    std::string name;
    bool is_pack = false;    // name...
    bool from_rank = false;  // name - rank
    std::string length_of;   // the pack, or the parameter, that has as many elements
  };
  /// An attribute or a constant input. A list that a parameter names whole is one entry, `is_list` unset.
  struct Value {
    bool is_list = false;
    std::vector<Entry> entries;
  };
  /// An input whose pack is repeated as a parameter says.
  struct Spread {
    std::string parameter;
    std::uint32_t input = 0;
    std::uint32_t before = 0, after = 0;  // dimensions around the pack
    std::string pack;
  };

  /// The dimensions of one of the operator's inputs.
  struct Operand {
    std::uint32_t fixed = 0;
    bool has_pack = false;
    std::string spread;  // the parameter by which the pack is repeated
  };

  std::string operator_name, op_type;
  std::vector<Operand> operands;
  std::uint32_t number = 0;  // OnnxMapping::number
  int since = 1, until = 1 << 20;
  bool variadic = false, variadic_outputs = false;
  std::vector<std::optional<std::uint32_t>> inputs;  // by ONNX input: the operator's; nothing for a constant
  std::vector<Value> constants;                      // by ONNX input
  std::vector<bool> absent_inputs;                   // by ONNX input
  std::map<std::string, Value> attributes;
  std::map<std::string, std::uint32_t> attribute_inputs;  // attribute → input without dimensions
  std::map<std::string, double> absent;                   // attribute → what absence says, where it is a number
  std::map<std::string, std::string> choices;             // parameter → word
  std::optional<std::string> unwrapped;                   // the parameter that must be the word none
  std::uint32_t arity = 0, outputs = 1;
  std::vector<std::string> computed;  // sizes that the mapping computes
  std::vector<Parameter> parameters;
  std::vector<Spread> spreads;
};

OnnxForm onnx_form(const syntax::Operator& op, std::uint32_t number);

}  // namespace rulemill::algebra
