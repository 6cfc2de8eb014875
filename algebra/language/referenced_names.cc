// The operators and functions to which a parsed operator refers.
#include "algebra/language/syntax.h"

namespace rulemill::algebra::syntax {
namespace {

void collect(const Call& call, std::vector<std::string>& names) {
  if (!call.is_input) names.push_back(call.name);
  for (const auto& argument : call.arguments) collect(*argument, names);
}

/// Each enum value of an applied parameter may name a function.
void collect(const Operator& op, const Scalar& node, std::vector<std::string>& names) {
  if (node.kind == Scalar::Kind::Apply) {
    const Parameter* parameter = op.parameter(node.name);
    if (parameter)
      names.insert(names.end(), parameter->enum_values.begin(), parameter->enum_values.end());
    else
      names.push_back(node.name);
  }
  for (const ScalarPtr& operand : node.operands) collect(op, *operand, names);
}

}  // namespace

std::vector<std::string> called_operators(const Operator& op) {
  std::vector<std::string> names;
  if (op.composite) collect(*op.composite, names);
  return names;
}

std::vector<std::string> applied_functions(const Operator& op) {
  std::vector<std::string> names;
  for (const auto* tensors : {&op.tensors, &op.outputs}) {
    for (const Tensor& tensor : *tensors) collect(op, *tensor.body, names);
  }
  return names;
}

}  // namespace rulemill::algebra::syntax
