#include <algorithm>
#include <iterator>
#include <string_view>

#include "optimize/onnx/operators/arguments.h"
#include "optimize/onnx/operators/node_arguments.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

struct Operator {
  std::string_view name;
  int since = 1;  // the opset since which the movement and the computation hold
  std::uint32_t traits = 0;
  MovementFunction* movement = nullptr;
  Computation* computation = nullptr;  // of the only output, where there is no movement
};

constexpr std::uint32_t moves = keeps_type | moves_first | passes_zero;
constexpr std::uint32_t maps = keeps_type | elementwise | passes_zero;

/// Sorted by name.
constexpr Operator table[] = {
    {"Abs", 6, maps | never_negative, nullptr, operators::unary},
    {"Add", 7, elementwise | passes_zeros, nullptr, operators::elementwise},
    {"And", 7, 0, nullptr, operators::elementwise},
    {"AveragePool", 1, keeps_type | passes_zero},
    {"BatchNormalization", 7, keeps_type | passes_zero},
    {"Bernoulli", 1, random},
    {"Cast", 6, elementwise | passes_zero, operators::cast_to_same, operators::cast},
    {"CastLike", 15, 0, operators::cast_to_same, operators::cast},
    {"Ceil", 6, passes_zero, nullptr, operators::unary},
    {"Clip", 11, maps, nullptr, operators::clip},
    {"Concat", 4, passes_zeros, operators::concat_of_one, operators::concat},
    {"Constant", 1, 0, nullptr, operators::constant},
    {"ConstantOfShape", 9, 0, nullptr, operators::constant_of_shape},
    {"Conv", 1, keeps_type | passes_zeros},
    {"ConvTranspose", 1, keeps_type | passes_zeros},
    {"Cos", 7, 0, nullptr, operators::unary},
    {"CumSum", 1, keeps_type},
    {"DepthToSpace", 1, keeps_type | passes_zero},
    {"Div", 7, elementwise | passes_zero, nullptr, operators::elementwise},
    {"Dropout", 1, keeps_type | random | optional_results},
    {"Einsum", 12, 0, nullptr, operators::einsum},
    {"Elu", 1, maps, nullptr, operators::unary},
    {"Equal", 7, passes_zeros, nullptr, operators::elementwise},
    {"Erf", 9, maps, nullptr, operators::unary},
    {"Exp", 1, maps | never_negative, nullptr, operators::unary},
    {"Expand", 8, moves, operators::expand},
    {"EyeLike", 9, 0, nullptr, operators::eye_like},
    {"Flatten", 1, moves | reshapes, operators::flatten},
    {"Floor", 6, passes_zero, nullptr, operators::unary},
    {"GRU", 1, keeps_type | optional_results},
    {"Gather", 1, moves, operators::gather},
    {"GatherElements", 11, 0, nullptr, operators::gather_elements},
    {"Gelu", 20, maps, nullptr, operators::unary},
    {"Gemm", 1, keeps_type | passes_zeros},
    {"GlobalAveragePool", 1, keeps_type | passes_zero},
    {"GlobalMaxPool", 1, keeps_type | passes_zero},
    {"Greater", 7, passes_zeros, nullptr, operators::elementwise},
    {"GreaterOrEqual", 12, passes_zeros, nullptr, operators::elementwise},
    {"HardSigmoid", 1, maps, nullptr, operators::unary},
    {"HardSwish", 14, maps, nullptr, operators::unary},
    {"Identity", 1, moves, operators::identity},
    {"InstanceNormalization", 1, keeps_type | passes_zero},
    {"LSTM", 1, keeps_type | optional_results},
    {"LayerNormalization", 1, keeps_type | passes_zero | optional_results},
    {"LeakyRelu", 1, maps, nullptr, operators::unary},
    {"Less", 7, passes_zeros, nullptr, operators::elementwise},
    {"LessOrEqual", 12, passes_zeros, nullptr, operators::elementwise},
    {"Log", 1, 0, nullptr, operators::unary},
    {"LogSoftmax", 1, keeps_type},
    {"MatMul", 1, keeps_type | passes_zeros},
    {"Max", 8, passes_zeros, operators::identity_of_one, operators::elementwise},
    {"MaxPool", 1, keeps_type | passes_zero},
    {"Min", 8, passes_zeros, operators::identity_of_one, operators::elementwise},
    {"Mod", 10, 0, nullptr, operators::elementwise},
    {"Mul", 7, elementwise | passes_zeros, nullptr, operators::elementwise},
    {"Multinomial", 1, random},
    {"Neg", 6, elementwise | passes_zero, nullptr, operators::unary},
    {"NonZero", 9, 0, nullptr, operators::nonzero},
    {"Not", 1, 0, nullptr, operators::unary},
    {"Or", 7, 0, nullptr, operators::elementwise},
    {"PRelu", 7, keeps_type, nullptr, operators::elementwise},
    {"Pad", 2, keeps_type, operators::empty_pad},
    {"Pow", 7, elementwise, nullptr, operators::elementwise},
    {"RNN", 1, optional_results},
    {"RandomNormal", 1, random},
    {"RandomNormalLike", 1, random},
    {"RandomUniform", 1, random},
    {"RandomUniformLike", 1, random},
    {"Range", 11, 0, nullptr, operators::range},
    {"Reciprocal", 1, 0, nullptr, operators::unary},
    {"ReduceL1", 1, 0, nullptr, operators::reduce},
    {"ReduceL2", 1, 0, nullptr, operators::reduce},
    {"ReduceLogSum", 1, 0, nullptr, operators::reduce},
    {"ReduceLogSumExp", 1, 0, nullptr, operators::reduce},
    {"ReduceMax", 1, passes_zero, operators::empty_reduction, operators::reduce},
    {"ReduceMean", 1, passes_zero, operators::empty_reduction, operators::reduce},
    {"ReduceMin", 1, passes_zero, operators::empty_reduction, operators::reduce},
    {"ReduceProd", 1, 0, operators::empty_reduction, operators::reduce},
    {"ReduceSum", 1, passes_zero, operators::empty_reduction, operators::reduce},
    {"ReduceSumSquare", 1, 0, nullptr, operators::reduce},
    {"Relu", 1, maps, nullptr, operators::unary},
    {"Reshape", 5, moves | reshapes, operators::reshape},
    {"Resize", 10, passes_zero, nullptr, operators::resize},
    {"Round", 11, 0, nullptr, operators::unary},
    {"Shape", 1, 0, nullptr, operators::shape},
    {"Sigmoid", 1, maps | never_negative, nullptr, operators::unary},
    {"Sin", 7, 0, nullptr, operators::unary},
    {"Size", 1, 0, nullptr, operators::size},
    {"Slice", 1, moves, operators::slice},
    {"Softmax", 1, keeps_type | passes_zero | never_negative},
    {"Softplus", 1, maps, nullptr, operators::unary},
    {"SpaceToDepth", 1, keeps_type | passes_zero},
    {"Split", 2, moves, operators::split},
    {"Sqrt", 6, maps, nullptr, operators::unary},
    {"Squeeze", 1, moves | reshapes, operators::squeeze},
    {"Sub", 7, elementwise | passes_zeros, nullptr, operators::elementwise},
    {"Sum", 8, passes_zeros, operators::identity_of_one, operators::elementwise},
    {"Tanh", 1, maps, nullptr, operators::unary},
    {"Tile", 6, moves, operators::tile},
    {"TopK", 1, keeps_type},
    {"Transpose", 1, moves, operators::transpose},
    {"Unsqueeze", 1, moves | reshapes, operators::unsqueeze},
    {"Upsample", 9, 0, nullptr, operators::resize},
    {"Where", 9, 0, nullptr, operators::where},
    {"Xor", 7, 0, nullptr, operators::elementwise},
};

static_assert(std::ranges::is_sorted(table, {}, &Operator::name));

const Operator* find_operator(const onnx::NodeProto& node) {
  const auto* found = std::ranges::lower_bound(table, std::string_view(node.op_type()), {}, &Operator::name);
  return is_standard(node) && found != std::end(table) && found->name == node.op_type() ? found : nullptr;
}

/// Forgets dimensions that may be too small: below 0, an expression is not what the node computes.
void forget_small_dimensions(KnownTensor& tensor, const EvaluationContext& context) {
  if (!tensor.dims || tensor.has_elements()) return;
  for (Dimension& dim : *tensor.dims) {
    const std::int64_t smallest = dim && dim->constant() ? 0 : context.smallest_size;
    if (dim && !context.symbols.is_nonnegative(*dim - smallest)) dim = std::nullopt;
  }
}

}  // namespace

bool has_trait(const onnx::NodeProto& node, Trait trait) {
  const Operator* found = find_operator(node);
  return found != nullptr && (found->traits & trait) != 0;
}

bool is_repeatable(const onnx::NodeProto& node) {
  return is_standard(node) && !has_trait(node, random) && !has_subgraph(node);
}

bool can_move(const onnx::NodeProto& node) {
  const Operator* found = find_operator(node);
  return found != nullptr && found->movement != nullptr;
}

std::optional<Movement> movement_of(const onnx::NodeProto& node, int opset, std::span<const KnownTensor> inputs,
                                    EvaluationContext& context, std::size_t output) {
  const Operator* found = find_operator(node);
  if (!can_move(node) || opset < found->since) return std::nullopt;
  try {
    return found->movement({node, opset, inputs, context}, output);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error&) {
    return std::nullopt;  // a number beyond 64 bits
  }
}

std::vector<KnownTensor> evaluate_node(const onnx::NodeProto& node, int opset, std::span<const KnownTensor> inputs,
                                       EvaluationContext& context) {
  std::vector<KnownTensor> outputs(static_cast<std::size_t>(node.output_size()));
  const Operator* found = find_operator(node);
  if (found == nullptr || outputs.empty()) return outputs;
  const Arguments arguments{node, opset, inputs, context};
  if ((found->traits & keeps_type) != 0) outputs[0].type = arguments.input(0).type;
  if ((found->traits & moves_first) != 0) std::ranges::fill(outputs, outputs[0]);
  if (opset < found->since) return outputs;
  try {
    bool is_movement = false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto movement = movement_of(node, opset, inputs, context, i);
      is_movement = is_movement || movement.has_value();
      if (movement) outputs[i] = move_elements(arguments.input(0), *movement, context);
    }
    if (!is_movement && found->computation != nullptr && outputs.size() == 1)
      outputs[0] = found->computation(arguments).value_or(outputs[0]);
    for (KnownTensor& output : outputs) forget_small_dimensions(output, context);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error&) {
    for (KnownTensor& output : outputs) output = {output.type};
  }
  return outputs;
}

}  // namespace rulemill::optimize
