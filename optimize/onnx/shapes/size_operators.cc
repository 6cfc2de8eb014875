#include "optimize/onnx/shapes/size_operators.h"

#include <algorithm>
#include <map>

namespace rulemill::optimize {

namespace {

const std::map<std::string, SizeOperator>& operators() {
  using enum SizeOperator;
  static const std::map<std::string, SizeOperator> by_name = {
      {"Shape", Shape},
      {"Size", Size},
      {"Gather", Gather},
      {"GatherElements", GatherElements},
      {"Slice", Slice},
      {"Concat", Concat},
      {"Unsqueeze", Unsqueeze},
      {"Squeeze", Squeeze},
      {"Reshape", Reshape},
      {"Cast", Cast},
      {"Identity", Identity},
      {"Range", Range},
      {"ConstantOfShape", ConstantOfShape},
      {"Expand", Expand},
      {"Where", Where},
      {"Transpose", Transpose},
      {"ReduceProd", ReduceProd},
      {"Neg", Neg},
      {"Not", Not},
      {"Add", Add},
      {"Sub", Sub},
      {"Mul", Mul},
      {"Div", Div},
      {"Mod", Mod},
      {"Pow", Pow},
      {"Min", Min},
      {"Max", Max},
      {"And", And},
      {"Or", Or},
      {"Xor", Xor},
      {"Less", Less},
      {"Greater", Greater},
      {"LessOrEqual", LessOrEqual},
      {"GreaterOrEqual", GreaterOrEqual},
      {"Equal", Equal},
  };
  return by_name;
}

}  // namespace

std::optional<SizeOperator> size_operator(const std::string& op_type) {
  const auto found = operators().find(op_type);
  if (found == operators().end()) return std::nullopt;
  return found->second;
}

const char* onnx_name(SizeOperator op) {
  const auto found = std::ranges::find(operators(), op, [](const auto& entry) { return entry.second; });
  return found->first.c_str();
}

bool is_elementwise(SizeOperator op) { return op >= SizeOperator::Add; }

bool returns_bool(SizeOperator op) {
  using enum SizeOperator;
  return op == Not || op == And || op == Or || op >= Less;
}

}  // namespace rulemill::optimize
