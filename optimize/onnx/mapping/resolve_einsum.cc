#include "optimize/onnx/mapping/resolve_einsum.h"

#include <algorithm>
#include <iterator>
#include <set>

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

/// The axes of an operand in the order of all indices, with a new axis for each index that it does not have.
std::optional<NodeParts::Operand> spread(NodeParts& parts, const NodeParts::Operand& operand,
                                         const std::string& letters, const std::string& all) {
  std::vector<std::int64_t> order;
  std::vector<algebra::Poly> added;
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (const std::size_t axis = letters.find(all[at]); axis != std::string::npos)
      order.push_back(static_cast<std::int64_t>(axis));
    else
      added.emplace_back(static_cast<std::int64_t>(at));
  }
  if (std::ranges::is_sorted(order)) order.clear();
  const auto turned = add_transposition(parts, order, operand);
  return added.empty() ? turned : parts.add("Unsqueeze", {turned, NodeParts::integers(std::move(added))});
}

/// Returns the letters of the operands, and last those of the result; none if one repeats a letter.
std::vector<std::string> letters_of(std::string equation) {
  std::erase_if(equation, [](char letter) { return letter == ' ' || letter == '>'; });
  std::ranges::replace(equation, '-', ',');
  std::vector<std::string> letters(1);
  for (const char letter : equation) {
    if (letter == ',')
      letters.emplace_back();
    else if (letters.back().find(letter) == std::string::npos)
      letters.back() += letter;
    else
      return {};
  }
  return letters;
}

}  // namespace

std::variant<LoweredNode, std::string> resolve_sum_of_products(const NodeQuery& query, GraphBank& bank) {
  NodeParts parts(query, bank, "its equation is no sum of products of its operands");
  const auto equation = query.description.attributes.find("equation");
  if (equation == query.description.attributes.end() || !equation->second.string_value) return parts.reason();
  const std::vector<std::string> letters = letters_of(*equation->second.string_value);
  if (letters.size() != query.inputs.size() + 1) return parts.reason();
  std::string all = letters.back();
  std::optional<NodeParts::Operand> result;
  std::set<char> missing(all.begin(), all.end());
  for (const std::string& operand : letters)
    std::ranges::copy_if(operand, std::back_inserter(all), [&](char letter) { return all.find(letter) == all.npos; });
  for (std::uint32_t i = 0; i < query.inputs.size(); ++i) {
    const auto input = parts.typed_input(i);
    if (!input || parts.shape(*input).size() != letters[i].size()) return parts.reason();
    for (const char letter : letters[i]) missing.erase(letter);
    const auto factor = spread(parts, *input, letters[i], all);
    result = i == 0 ? factor : parts.add("Mul", {result, factor});
  }
  OnnxLiteral none;
  none.integers = {algebra::Poly(0)};
  std::vector<algebra::Poly> summed;
  for (std::size_t axis = letters.back().size(); axis < all.size(); ++axis)
    summed.emplace_back(static_cast<std::int64_t>(axis));
  if (!summed.empty())
    result = parts.add("ReduceSum", {result, NodeParts::integers(std::move(summed))}, {{"keepdims", none}});
  return result && missing.empty() ? std::variant<LoweredNode, std::string>(parts.finish(*result)) : parts.reason();
}

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
