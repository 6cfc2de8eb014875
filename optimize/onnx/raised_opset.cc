#include "optimize/onnx/raised_opset.h"

#include <algorithm>
#include <sstream>

#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

constexpr int min_raised_opset = 11;
/// The opset since which the axes of Softmax and of Squeeze mean what they mean now.
constexpr int newer_axes_opset = 13;
/// The opset of a result whose nodes change later.
constexpr int moderate_opset = 17;

/// Operators whose versions from min_raised_opset to max_result_opset differ at most in types and optional inputs and
/// attributes whose defaults are the older meaning: a list, since the installed ONNX library may end before.
constexpr const char* unchanged_operators =
    "Abs Acos Add And ArgMax ArgMin Asin Atan BitShift Cast CastLike Ceil Celu Clip Compress Concat Constant "
    "ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DepthToSpace Det Div Einsum Elu Equal Erf Exp Expand EyeLike "
    "Flatten Floor Gather GatherElements GatherND Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GRU "
    "HardSigmoid HardSwish Identity If InstanceNormalization IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual "
    "Log Loop LRN LSTM MatMul Max MaxPool MaxUnpool Mean Min Mod Mul Neg NegativeLogLikelihoodLoss NonMaxSuppression "
    "NonZero Not OneHot Or Pad Pow PRelu Range Reciprocal Relu Reshape ReverseSequence RNN Round Scan ScatterElements "
    "ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice SoftmaxCrossEntropyLoss Softplus Softsign "
    "SpaceToDepth Sqrt Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu Unique Where Xor ";
/// The same up to moderate_opset.
constexpr const char* later_changed_operators =
    "AveragePool ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSumSquare ";
/// The same from newer_axes_opset on.
constexpr const char* earlier_changed_operators = "LogSoftmax ReduceSum Resize Softmax Squeeze Unsqueeze ";

bool is_among(const char* operators, const std::string& op_type) {
  std::istringstream words(operators);
  return std::find(std::istream_iterator<std::string>(words), {}, op_type) != std::istream_iterator<std::string>();
}

/// Before opset 13, softmaxes are along all axes from this one on. A result of the graph has a declared rank.
bool is_along_last_axis(const onnx::NodeProto& node, const onnx::GraphProto& graph) {
  const std::int64_t axis = int_attribute(node, "axis", -2);
  return axis == -1 || std::ranges::any_of(graph.output(), [&](const onnx::ValueInfoProto& output) {
           const auto& type = output.type().tensor_type();
           return output.name() == node.output(0) && type.has_shape() && type.shape().dim_size() == axis + 1;
         });
}

/// Whether the node means the same in these opsets.
bool keeps_meaning(const onnx::NodeProto& node, const onnx::GraphProto& graph, int own, int raised) {
  const std::string& op = node.op_type();
  if (!is_standard(node) || is_among(unchanged_operators, op)) return true;
  if (is_among(later_changed_operators, op)) return raised <= moderate_opset;
  // Sizes of the parts must be given; since opset 18 equal parts need an attribute.
  if (op == "Split") return has_input(node, 1);
  if (op == "BatchNormalization") return node.output_size() == 1;
  if (!is_among(earlier_changed_operators, op)) return false;
  if (own >= newer_axes_opset) return true;
  const onnx::AttributeProto* mode = find_attribute(node, "coordinate_transformation_mode");
  if (op == "Resize") return !has_input(node, 3) && (mode == nullptr || mode->s() != "tf_half_pixel_for_nn");
  return op.ends_with("oftmax") && is_along_last_axis(node, graph);
}

bool keeps_meaning(const onnx::GraphProto& graph, int own, int raised) {
  const auto keeps = [&](const auto& each) { return keeps_meaning(each, own, raised); };
  return std::ranges::all_of(graph.node(), [&](const onnx::NodeProto& node) {
    return keeps_meaning(node, graph, own, raised) && std::ranges::all_of(node.attribute(), [&](const auto& attribute) {
             return (!attribute.has_g() || keeps(attribute.g())) && std::ranges::all_of(attribute.graphs(), keeps);
           });
  });
}

}  // namespace

std::int64_t equivalent_opset(const std::string& op_type, std::int64_t opset) {
  const bool is_known = min_raised_opset < opset && opset <= max_result_opset;
  return is_known && is_among(unchanged_operators, op_type) ? min_raised_opset : opset;
}

int raised_opset(const OnnxModel& model) {
  const int own = model.opset();
  const onnx::ModelProto& proto = model.proto().model;
  const bool is_subgraph = !model.proto().outer_names.empty();  // has the opset of the outer model
  if (own < min_raised_opset || proto.functions_size() > 0 || is_subgraph) return own;
  for (const int raised : {max_result_opset, moderate_opset}) {
    if (own < raised && keeps_meaning(proto.graph(), own, raised)) return raised;
  }
  return own;
}

}  // namespace rulemill::optimize
