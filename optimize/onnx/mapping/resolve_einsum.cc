#include "optimize/onnx/mapping/resolve_einsum.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "optimize/onnx/mapping/node_parts.h"

namespace rulemill::optimize {
namespace {

constexpr std::string_view arrow = "->";

bool contains(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

bool has_repetition(const std::string& letters) {
  return std::set<char>(letters.begin(), letters.end()).size() != letters.size();
}

/// Returns the order that makes `wanted` of `letters`; empty if they are equal.
std::vector<std::int64_t> order_of(const std::string& letters, const std::string& wanted) {
  std::vector<std::int64_t> order;
  if (letters == wanted) return order;
  for (const char letter : wanted) order.push_back(static_cast<std::int64_t>(letters.find(letter)));
  return order;
}

struct Indices {
  std::string shared;  // of both operands and the result, in its order
  std::string summed;  // of both operands only
  std::string own[2];  // of one operand and the result, in the order of the operand
};

struct Equation {
  std::string operands[2], result;
};

/// Returns the letters of an equation of two operands, or why they are not.
std::variant<Equation, std::string> read_letters(std::string text) {
  std::erase(text, ' ');
  const std::size_t end = text.find(arrow), comma = text.find(',');
  if (end == std::string::npos) return "its equation states no result";
  if (contains(text, '.')) return "its equation has an ellipsis";
  if (comma >= end || text.find(',', comma + 1) != std::string::npos) return "its equation does not have two operands";
  Equation read{{text.substr(0, comma), text.substr(comma + 1, end - comma - 1)}, text.substr(end + arrow.size())};
  if (has_repetition(read.operands[0]) || has_repetition(read.operands[1]) || has_repetition(read.result))
    return "its equation repeats an index";
  return read;
}

/// Sorts the indices by where they occur.
std::variant<Indices, std::string> sort_indices(const Equation& equation) {
  Indices indices;
  for (const char letter : equation.result) {
    if (contains(equation.operands[0], letter) && contains(equation.operands[1], letter)) indices.shared += letter;
    if (!contains(equation.operands[0], letter) && !contains(equation.operands[1], letter))
      return "its result has an index of no operand";
  }
  for (const std::size_t side : {0U, 1U}) {
    for (const char letter : equation.operands[side]) {
      const bool in_other = contains(equation.operands[1 - side], letter),
                 in_result = contains(equation.result, letter);
      if (!in_other && !in_result) return "its equation sums over an index of one operand";
      if (!in_other) indices.own[side] += letter;
      if (in_other && !in_result && side == 0) indices.summed += letter;
    }
  }
  if (indices.summed.size() != 1) return "its equation does not sum over exactly one index";
  if (indices.own[0].empty() || indices.own[1].empty()) return "its equation is a product with vectors";
  if (indices.own[0].size() > 1 && indices.own[1].size() > 1) return "its equation has several indices of each operand";
  return indices;
}

struct Choice {
  ProductEquation product;
  int transpositions = 0;
};

/// The product with these rows and columns, of which `left` is the operand with the rows.
Choice make_choice(const Equation& equation, const Indices& indices, const std::vector<bool>& fixed, std::size_t left,
                   char row, char column) {
  std::string leading[2];  // indices of one operand only, along which the other one is repeated
  for (const std::size_t side : {0U, 1U}) {
    leading[side] = indices.own[side];
    std::erase(leading[side], side == left ? row : column);
  }
  const std::size_t right = 1 - left;
  Choice choice;
  ProductEquation& product = choice.product;
  product.exchanged = left == 1;
  product.left_axes = equation.operands[left].size();
  product.right_axes = equation.operands[right].size();
  product.left = order_of(equation.operands[left], leading[left] + indices.shared + row + indices.summed);
  product.right = order_of(equation.operands[right], leading[right] + indices.shared + indices.summed + column);
  product.result = order_of(leading[0] + leading[1] + indices.shared + row + column, equation.result);
  choice.transpositions = static_cast<int>(!product.left.empty() && !fixed[left]) +
                          static_cast<int>(!product.right.empty() && !fixed[right]) +
                          static_cast<int>(!product.result.empty());
  return choice;
}

}  // namespace

std::variant<ProductEquation, std::string> read_product_equation(const std::string& equation,
                                                                 const std::vector<bool>& fixed) {
  const auto letters = read_letters(equation);
  if (const auto* reason = std::get_if<std::string>(&letters)) return *reason;
  const auto& read = std::get<Equation>(letters);
  const auto sorted = sort_indices(read);
  if (const auto* reason = std::get_if<std::string>(&sorted)) return *reason;
  const auto& indices = std::get<Indices>(sorted);
  std::optional<Choice> best;
  for (const std::size_t left : {0U, 1U}) {
    for (const char row : indices.own[left]) {
      for (const char column : indices.own[1 - left]) {
        Choice choice = make_choice(read, indices, fixed, left, row, column);
        if (!best || choice.transpositions < best->transpositions) best = std::move(choice);
      }
    }
  }
  return std::move(best->product);
}

namespace {

std::optional<NodeParts::Operand> add_transposition(NodeParts& parts, const std::vector<std::int64_t>& order,
                                                    const std::optional<NodeParts::Operand>& operand) {
  if (order.empty()) return operand;
  return parts.add("Transpose", {operand}, {{"perm", attribute({order.begin(), order.end()})}});
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
  std::vector<algebra::Poly> summed;
  for (std::size_t axis = letters.back().size(); axis < all.size(); ++axis)
    summed.emplace_back(static_cast<std::int64_t>(axis));
  if (!summed.empty())
    result = parts.add("ReduceSum", {result, NodeParts::integers(std::move(summed))},
                       {{"keepdims", attribute(std::int64_t{0})}});
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
  const auto left = add_transposition(parts, product.left, parts.input(product.exchanged ? 1 : 0));
  const auto right = add_transposition(parts, product.right, parts.input(product.exchanged ? 0 : 1));
  const auto result = add_transposition(parts, product.result, parts.add("MatMul", {left, right}));
  if (!result) return parts.reason();
  LoweredNode lowered = parts.finish(*result);
  lowered.replaces_node = true;
  return lowered;
}

}  // namespace rulemill::optimize
