// An ONNX mapping before ranks and parameters are fixed: the operator's input, parameter or size for each ONNX input
// and attribute. The importer reads ranks and parameters of a model's node from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

namespace syntax {
struct Operator;
}

/// The generic form of OnnxMapping.
struct GenericOnnxMapping {
  struct Parameter {
    std::string name;
    ParameterKind kind;
    std::string pack;  // Ints: the list has one number per dimension of this pack
    bool has_default = false;
  };
  /// One item of a value: the parameter, size or pack that it names; an empty name for any other expression.
  struct ValueItem {
    std::string name;
    bool is_pack = false;    // name...
    bool from_rank = false;  // name - rank
    std::string length_of;   // the pack or parameter with the same number of elements
  };
  /// An attribute or a constant input. A list parameter named as a whole is one item, with `is_list` unset.
  struct Value {
    bool is_list = false;
    std::vector<ValueItem> items;
  };
  /// A broadcast input, and the parameter of kind Spread that describes its dimensions.
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
    std::string spread;  // the parameter that broadcasts the pack, may be empty
  };

  std::string operator_name, op_type;
  std::string domain;  // empty: ONNX's own
  std::string place;   // file:line:column
  std::vector<Operand> operands;
  std::uint32_t index = 0;  // OnnxMapping::index
  int since = 1, until = 1 << 20;
  bool variadic = false, variadic_outputs = false;
  std::vector<std::optional<std::uint32_t>> inputs;  // by ONNX input: the operator's input; nullopt for a constant
  std::vector<Value> constants;                      // by ONNX input
  std::vector<bool> absent_inputs;                   // by ONNX input
  std::vector<std::string> attribute_names;          // of all attributes
  std::map<std::string, Value> attributes;
  std::map<std::string, std::uint32_t> attribute_inputs;  // attribute → the operator's input, a scalar
  std::map<std::string, double> defaults;                 // attribute → numeric default
  std::map<std::string, std::string> enum_values;         // parameter → required enum value
  std::optional<std::string> activation_parameter;        // its enum value must be none
  std::uint32_t arity = 0, outputs = 1;
  std::vector<std::string> computed_sizes;  // sizes given by expressions
  std::vector<Parameter> parameters;
  std::vector<Spread> spreads;
};

/// The mapping `number` of the operator.
GenericOnnxMapping make_generic_mapping(const syntax::Operator& op, std::uint32_t number);

}  // namespace rulemill::algebra
