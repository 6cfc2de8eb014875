#include "optimize/onnx/raised_opset.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "optimize/onnx/format/model_proto.h"

namespace rulemill::optimize {

namespace {

constexpr int min_raised_opset = 13;

/// Operators whose versions from min_raised_opset to max_result_opset differ at most in types and in optional inputs
/// and attributes whose defaults are the older meaning. A list, because the installed ONNX library may end before
/// opset 20.
constexpr const char* unchanged_operators =
    "Abs Acos Add And ArgMax ArgMin Asin Atan Cast CastLike Ceil Celu Clip Concat Constant ConstantOfShape Conv "
    "ConvTranspose Cos Cosh CumSum DepthToSpace Div Einsum Elu Equal Erf Exp Expand Flatten Floor Gather "
    "GatherElements GatherND Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual HardSigmoid HardSwish "
    "Identity If InstanceNormalization IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax "
    "Loop LRN MatMul Max MaxPool Mean Min Mod Mul Neg NonZero Not OneHot Or Pad Pow PRelu Range Reciprocal "
    "ReduceSum Relu Reshape Resize Round Scan ScatterElements ScatterND Selu Shape Sigmoid Sign Sin Sinh Size "
    "Slice Softmax Softplus Softsign SpaceToDepth Sqrt Squeeze Sub Sum Tan Tanh Tile TopK Transpose Unsqueeze "
    "Where Xor ";

bool is_unchanged(const std::string& op_type) {
  static const std::set<std::string> unchanged = [] {
    std::istringstream words(unchanged_operators);
    return std::set<std::string>(std::istream_iterator<std::string>(words), {});
  }();
  return unchanged.contains(op_type);
}

bool keeps_meaning(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return true;
  // Sizes of the parts must be given; since opset 18 equal parts need an attribute.
  if (node.op_type() == "Split") return node.input_size() == 2 && !node.input(1).empty();
  return is_unchanged(node.op_type());
}

bool keeps_meaning(const onnx::GraphProto& graph) {
  return std::ranges::all_of(graph.node(), [](const onnx::NodeProto& node) {
    return keeps_meaning(node) && std::ranges::all_of(node.attribute(), [](const auto& attribute) {
             return (!attribute.has_g() || keeps_meaning(attribute.g())) &&
                    std::ranges::all_of(attribute.graphs(), [](const auto& each) { return keeps_meaning(each); });
           });
  });
}

}  // namespace

int raised_opset(const OnnxModel& model) {
  const int own = model.opset();
  const onnx::ModelProto& proto = model.proto().model;
  const bool is_subgraph = !model.proto().outer_names.empty();  // has the opset of the outer model
  if (own < min_raised_opset || own >= max_result_opset || proto.functions_size() > 0 || is_subgraph) return own;
  return keeps_meaning(proto.graph()) ? max_result_opset : own;
}

}  // namespace rulemill::optimize
