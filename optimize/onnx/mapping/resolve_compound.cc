#include "optimize/onnx/mapping/resolve_compound.h"

#include <algorithm>
#include <map>

#include "optimize/onnx/mapping/node_parts.h"
#include "optimize/onnx/mapping/resolve_attention.h"
#include "optimize/onnx/mapping/resolve_einsum.h"
#include "optimize/onnx/mapping/resolve_normalization.h"

namespace rulemill::optimize {

namespace {

using Operand = NodeParts::Operand;
using Resolved = std::variant<LoweredNode, std::string>;

/// The activations that onnxruntime fuses, with the attributes of their ONNX nodes that hold numbers.
const std::map<std::string, std::vector<std::string>> activations = {{"Relu", {}},
                                                                     {"Sigmoid", {}},
                                                                     {"Tanh", {}},
                                                                     {"Softplus", {}},
                                                                     {"Softsign", {}},
                                                                     {"Clip", {}},
                                                                     {"LeakyRelu", {"alpha"}},
                                                                     {"HardSigmoid", {"alpha", "beta"}}};

std::optional<std::string> text_of(const NodeDescription& description, const std::string& attribute) {
  const auto found = description.attributes.find(attribute);
  return found == description.attributes.end() ? std::nullopt : found->second.string_value;
}

/// Returns the inputs from `first` to before `end` that are present; nullopt if the type of one is not known.
std::optional<std::vector<Operand>> inputs_of(const NodeQuery& query, const NodeParts& parts, const GraphBank& bank,
                                              std::size_t first, std::size_t end) {
  std::vector<Operand> operands;
  for (std::size_t i = first; i < std::min(end, query.inputs.size()); ++i) {
    if (query.description.absent_inputs[i]) continue;
    if (!query.inputs[i] || !bank.value(*query.inputs[i]).type) return std::nullopt;
    operands.push_back(parts.input(static_cast<std::uint32_t>(i)));
  }
  return operands;
}

std::optional<Operand> add_activation(NodeParts& parts, const std::string& name, const std::vector<double>& numbers,
                                      const Operand& operand) {
  const auto known = activations.find(name);
  if (known == activations.end()) return std::nullopt;
  NodeDescription description = node(name);
  if (name == "Clip") {
    if (numbers.size() != 2) return std::nullopt;
    return parts.add(std::move(description), {operand, parts.number(numbers[0]), parts.number(numbers[1])});
  }
  if (numbers.size() != known->second.size()) return std::nullopt;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    description.attributes.emplace(known->second[i], attribute(numbers[i]));
  return parts.add(std::move(description), {operand});
}

/// A convolution, a sum with a fourth input, and an activation.
Resolved resolve_fused_conv(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "its activation is not known");
  NodeDescription conv = query.description;
  conv.op_type = "Conv";
  conv.domain.clear();
  const auto name = text_of(conv, "activation");
  const auto params = conv.attributes.find("activation_params");
  const std::vector<double> numbers = params == conv.attributes.end() ? std::vector<double>() : params->second.floats;
  conv.attributes.erase("activation");
  conv.attributes.erase("activation_params");
  const auto operands = inputs_of(query, parts, bank, 0, 3), sums = inputs_of(query, parts, bank, 3, 4);
  if (!operands || !sums) return "the type of an input is not known";
  auto result = parts.add(std::move(conv), *operands);
  if (result && !sums->empty()) result = parts.add(node("Add"), {*result, sums->at(0)});
  if (result && name) result = add_activation(parts, *name, numbers, *result);
  if (!result) return parts.reason();
  return parts.finish(*result);
}

/// A product of matrices, each of which may be transposed, times a number; plus a third input times a number, if there
/// is one. Rules know the parts.
std::optional<Operand> add_product(NodeParts& parts, const NodeQuery& query, const GraphBank& bank) {
  const auto operands = inputs_of(query, parts, bank, 0, 3);
  if (!operands || operands->size() < 2) return std::nullopt;
  const auto turned = [&](const Operand& operand, const char* is_turned) {
    const std::size_t rank = parts.shape(operand).size();
    if (rank < 2 || integer_of(query.description, is_turned).value_or(0) == 0) return std::optional(operand);
    std::vector<algebra::Poly> order;
    for (std::size_t i = 0; i < rank; ++i) order.emplace_back(static_cast<std::int64_t>(i));
    std::swap(order[rank - 1], order[rank - 2]);
    return parts.add("Transpose", {operand}, {{"perm", attribute(std::move(order))}});
  };
  const auto times = [&](const std::optional<Operand>& operand, const char* name) {
    if (!query.description.attributes.contains(name)) return operand;
    const auto factor = parts.number_of(name);
    if (factor == 1) return operand;
    return factor ? parts.add("Mul", {operand, parts.number(*factor)}) : std::nullopt;
  };
  const auto product =
      times(parts.add("MatMul", {turned(operands->at(0), "transA"), turned(operands->at(1), "transB")}), "alpha");
  if (!product || operands->size() == 2) return product;
  auto sum = parts.add("Add", {product, times(operands->at(2), "beta")});
  return sum && parts.shape(*sum) == parts.shape(*product) ? sum : std::nullopt;
}

/// A product of matrices, and an activation whose numbers are attributes of the node.
Resolved resolve_fused_gemm(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "its activation is not known");
  const auto name = text_of(query.description, "activation");
  std::vector<double> numbers;
  for (const std::string attribute : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    const auto found = query.description.attributes.find(attribute);
    if (found != query.description.attributes.end() && found->second.float_value)
      numbers.push_back(*found->second.float_value);
  }
  auto result = add_product(parts, query, bank);
  if (result && name && *name != "Clip") result = add_activation(parts, *name, numbers, *result);
  if (!result || !name || *name == "Clip") return parts.reason();
  return parts.finish(*result);
}

Resolved resolve_product(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "it transposes batches");
  for (const char* batches : {"transBatchA", "transBatchB"})
    if (integer_of(query.description, batches).value_or(0) != 0) return parts.reason();
  const auto result = add_product(parts, query, bank);
  return result ? Resolved(parts.finish(*result)) : parts.reason();
}

/// The shape of ONNX's Expand may have a 1 where the input's dimension stays; its result has the whole shape.
Resolved resolve_expand(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "its shape does not fit its input");
  const auto is_number = [](const algebra::Poly& dim) { return dim.constant().has_value(); };
  if (query.outputs.size() != 1 || !query.outputs[0] || !std::ranges::all_of(*query.outputs[0], is_number))
    return parts.reason();
  const auto result = parts.add("Expand", {parts.typed_input(0), NodeParts::integers(*query.outputs[0])});
  return result ? Resolved(parts.finish(*result)) : parts.reason();
}

}  // namespace

Resolved resolve_node_or_parts(const NodeQuery& query, GraphBank& bank) {
  const NodeDescription& given = query.description;
  const auto scale = given.attributes.find("scale");
  if (is_attention(given) && !given.domain.empty() && scale != given.attributes.end() &&
      scale->second.float_value == 0) {
    NodeQuery without_scale = query;  // onnxruntime reads 0 as absent
    without_scale.description.attributes.erase("scale");
    return resolve_node_or_parts(without_scale, bank);
  }
  const bool is_fused_matmul = given.domain == "com.microsoft" && given.op_type == "FusedMatMul";
  const bool is_opened_norm = query.normalizations == Normalizations::Parts && is_normalization(given);
  if (is_fused_matmul || is_opened_norm) {  // both have operators, too, of which rules know less
    auto parts = is_fused_matmul ? resolve_product(query, bank) : resolve_normalization(query, bank);
    if (std::holds_alternative<LoweredNode>(parts)) return parts;
  }
  auto resolved = resolve_node(query, bank);
  if (std::holds_alternative<LoweredNode>(resolved)) return resolved;
  if (is_attention(given)) return resolve_attention(query, bank);
  if (given.domain.empty()) {
    if (given.op_type == "Einsum") {
      auto product = resolve_einsum(query, bank);
      const bool is_opened = query.normalizations == Normalizations::Parts && product.index() == 1;
      return is_opened ? resolve_sum_of_products(query, bank) : std::move(product);
    }
    if (given.op_type == "Gemm") return resolve_product(query, bank);
    return given.op_type == "Expand" ? resolve_expand(query, bank) : std::move(resolved);
  }
  if (given.domain != "com.microsoft") return resolved;
  if (given.op_type == "FusedConv") return resolve_fused_conv(query, bank);
  if (given.op_type == "FusedGemm") return resolve_fused_gemm(query, bank);
  return resolved;
}

}  // namespace rulemill::optimize
