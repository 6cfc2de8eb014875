#include "optimize/onnx/mapping/resolve_einsum.h"

#include "optimize/onnx/mapping/node_parts.h"
#include "optimize/onnx/mapping/product_equation.h"

namespace rulemill::optimize {

namespace {

std::optional<NodeParts::Operand> add_transposition(NodeParts& parts, const std::vector<std::int64_t>& order,
                                                    const NodeParts::Operand& operand) {
  if (order.empty()) return operand;
  OnnxLiteral permutation;
  permutation.is_list = true;
  for (const std::int64_t axis : order) permutation.integers.emplace_back(axis);
  NodeDescription transpose;
  transpose.op_type = "Transpose";
  transpose.attributes.emplace("perm", std::move(permutation));
  return parts.add(std::move(transpose), {operand});
}

}  // namespace

std::variant<LoweredNode, std::string> resolve_einsum(const NodeQuery& query, GraphBank& bank) {
  const auto equation = query.description.attributes.find("equation");
  if (equation == query.description.attributes.end() || !equation->second.string_value) return "its equation is absent";
  if (query.inputs.size() != 2 || query.outputs.size() != 1) return "it does not have two operands";
  std::vector<bool> fixed;
  for (const auto& input : query.inputs) {
    if (!input || !bank.value(*input).type) return "the type of an operand is not known";
    fixed.push_back(bank.node_of(*input).constant);
  }
  const auto read = read_product_equation(*equation->second.string_value, fixed);
  if (const auto* reason = std::get_if<std::string>(&read)) return *reason;
  const auto& product = std::get<ProductEquation>(read);
  for (const std::uint32_t side : {0U, 1U}) {
    const std::size_t axes = (side == 0) == product.exchanged ? product.right_axes : product.left_axes;
    if (bank.value(*query.inputs[side]).type->size() != axes) return "an operand has another rank than in its equation";
  }
  NodeParts parts(query, bank, "its operands do not fit its equation");
  NodeDescription matmul;
  matmul.op_type = "MatMul";
  const auto left = add_transposition(parts, product.left, parts.input(product.exchanged ? 1 : 0));
  const auto right = add_transposition(parts, product.right, parts.input(product.exchanged ? 0 : 1));
  const auto both = left && right ? parts.add(std::move(matmul), {*left, *right}) : std::nullopt;
  const auto result = both ? add_transposition(parts, product.result, *both) : std::nullopt;
  if (!result) return parts.reason();
  LoweredNode lowered = parts.finish(*result);
  lowered.replaces_node = true;
  return lowered;
}

}  // namespace rulemill::optimize
