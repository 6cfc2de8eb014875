#include "optimize/onnx/shapes/size_operators.h"

#include <map>

#include "runtime/text/words.h"

namespace rulemill::optimize {

namespace {

/// In the order of SizeOperator.
const std::vector<std::string>& onnx_names() {
  static const std::vector<std::string> names = runtime::words(
      "Shape Size Gather GatherElements Slice Concat Unsqueeze Squeeze Reshape Cast Identity Range ConstantOfShape "
      "Expand Where Transpose ReduceProd Neg Not Add Sub Mul Div Mod Pow Min Max And Or Xor Less Greater LessOrEqual "
      "GreaterOrEqual Equal");
  return names;
}

}  // namespace

std::optional<SizeOperator> size_operator(const std::string& op_type) {
  static const std::map<std::string, SizeOperator> by_name = [] {
    std::map<std::string, SizeOperator> operators;
    for (const std::string& name : onnx_names()) operators.emplace(name, static_cast<SizeOperator>(operators.size()));
    return operators;
  }();
  const auto found = by_name.find(op_type);
  return found == by_name.end() ? std::nullopt : std::optional(found->second);
}

const char* onnx_name(SizeOperator op) { return onnx_names().at(static_cast<std::size_t>(op)).c_str(); }

bool is_elementwise(SizeOperator op) { return op >= SizeOperator::Add; }

bool returns_bool(SizeOperator op) {
  using enum SizeOperator;
  return op == Not || op == And || op == Or || op >= Less;
}

}  // namespace rulemill::optimize
