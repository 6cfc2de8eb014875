// Which operators and functions a parsed operator refers to.
#include "algebra/language/syntax.h"

namespace rulemill::algebra::syntax {
namespace {

void collect(const Call& call, std::vector<std::string>& names) {
  if (!call.is_input) names.push_back(call.name);
  for (const auto& argument : call.arguments) collect(*argument, names);
}

/// A parameter that is applied may name a function with each of its words.
void collect(const Operator& op, const Scalar& node, std::vector<std::string>& names) {
  if (node.kind == Scalar::Kind::Apply) {
    const Parameter* parameter = op.parameter(node.name);
    if (parameter)
      names.insert(names.end(), parameter->words.begin(), parameter->words.end());
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
