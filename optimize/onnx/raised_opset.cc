#include "optimize/onnx/raised_opset.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "optimize/onnx/format/model_proto.h"

namespace rulemill::optimize {

namespace {

constexpr int min_raised_opset = 13;

/// Operators whose versions between min_raised_opset and max_result_opset differ only in types and in optional inputs
/// and attributes whose defaults are the older meaning.
bool is_only_extended(const std::string& op_type) {
  static const std::unordered_set<std::string> extended{
      "Add",        "Cast",     "CastLike",        "Constant", "ConstantOfShape", "CumSum",    "Div",
      "Equal",      "Greater",  "GreaterOrEqual",  "Identity", "If",              "IsInf",     "IsNaN",
      "LeakyRelu",  "Less",     "LessOrEqual",     "Loop",     "Mul",             "PRelu",     "Pad",
      "Pow",        "Relu",     "Reshape",         "Resize",   "Scan",            "ScatterND", "ScatterElements",
      "Shape",      "Size",     "Sub",             "Where"};
  return extended.contains(op_type);
}

bool keeps_meaning(const onnx::NodeProto& node, int from, int to) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return true;
  const auto* before = onnx::OpSchemaRegistry::Schema(node.op_type(), from, "");
  const auto* after = onnx::OpSchemaRegistry::Schema(node.op_type(), to, "");
  if (before == nullptr || after == nullptr || after->deprecated()) return false;
  if (before->since_version() == after->since_version() || is_only_extended(node.op_type())) return true;
  // Sizes of the parts are given, by an input.
  return node.op_type() == "Split" && node.input_size() == 2 && !node.input(1).empty();
}

bool keeps_meaning(const onnx::GraphProto& graph, int from, int to) {
  return std::ranges::all_of(graph.node(), [&](const onnx::NodeProto& node) {
    return keeps_meaning(node, from, to) && std::ranges::all_of(node.attribute(), [&](const auto& attribute) {
             return (!attribute.has_g() || keeps_meaning(attribute.g(), from, to)) &&
                    std::ranges::all_of(attribute.graphs(),
                                        [&](const auto& subgraph) { return keeps_meaning(subgraph, from, to); });
           });
  });
}

}  // namespace

int raised_opset(const OnnxModel& model) {
  const int own = model.opset();
  const onnx::ModelProto& proto = model.proto().model;
  if (own < min_raised_opset || own >= max_result_opset || proto.functions_size() > 0) return own;
  return keeps_meaning(proto.graph(), own, max_result_opset) ? max_result_opset : own;
}

}  // namespace rulemill::optimize
