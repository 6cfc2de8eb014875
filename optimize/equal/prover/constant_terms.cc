#include "optimize/equal/prover/constant_terms.h"

#include <algorithm>

namespace rulemill::optimize {
namespace {

/// In the products of matrices of all terms that are tried for one constant.
constexpr std::int64_t max_multiplications = 1 << 26;

/// Constants that may be joined to one.
constexpr std::size_t max_parts = 16;

/// The operators of terms; without them, in other definitions, there are none.
constexpr const char* term_operators[] = {"add", "concat", "matmul",  "mul",   "mul_column", "mul_row",
                                          "neg", "recip",  "reshape", "scale", "split",      "transpose"};

/// The dimensions of a constant.
std::vector<std::int64_t> shape_of(const ValueType& type) {
  std::vector<std::int64_t> shape;
  for (const algebra::Poly& dim : *type) shape.push_back(dim.constant().value_or(0));
  return shape;
}

std::uint32_t last_of(const std::vector<TermNode>& nodes) {
  return TermNode::inner + static_cast<std::uint32_t>(nodes.size()) - 1;
}

}  // namespace

std::optional<ConstantTerm> ConstantTerms::find(ValueId constant, const std::map<std::uint32_t, ValueId>& leaves,
                                                const std::map<std::uint32_t, ValueId>& numbers) {
  const auto is_missing = [&](const char* name) { return !bank_.library().has_operator(name); };
  if (std::ranges::any_of(term_operators, is_missing)) return std::nullopt;
  leaves_ = leaves;
  numbers_ = numbers;
  work_ = 0;
  if (bank_.value(constant).type->empty()) return number(constant);
  for (const Leaf& leaf : leaves_) {
    if (auto found = confirmed(constant, view(leaf, constant))) return found;
    if (bank_.value(leaf.second).type != bank_.value(constant).type) continue;
    const algebra::InstanceId neg = instance("neg", {}, {bank_.value(constant).type->size()});
    if (auto found = confirmed(constant, {{neg, {leaf.first}, {}}})) return found;
    if (auto found = scaled(constant, leaf)) return found;
  }
  auto found = joined(constant);
  return found ? found : added(constant);
}

std::optional<ConstantTerm> ConstantTerms::find_by_sizes(ValueId constant, const std::set<std::int64_t>& sizes) {
  for (const char* name : {"count", "count_but_one", "part_of_count", "root_of_count", "part_of_root"}) {
    if (!bank_.library().has_operator(name)) continue;
    for (const std::int64_t size : sizes) {
      auto found = confirmed(constant, {{instance(name, {}, {}), {}, {size}}});
      if (found && found->difference == 0) return found;  // rounded once
    }
  }
  return std::nullopt;
}

algebra::InstanceId ConstantTerms::instance(const char* name, algebra::Parameters parameters,
                                            std::initializer_list<std::size_t> ranks) const {
  const std::vector<std::uint32_t> numbers(ranks.begin(), ranks.end());
  return bank_.library().instantiate(name, parameters, numbers).id;
}

/// Returns the nodes with a last one that gives the value another shape of at least one dimension.
std::vector<TermNode> ConstantTerms::reshaped(std::vector<TermNode> nodes, std::uint32_t argument, std::size_t rank,
                                              const std::vector<std::int64_t>& shape) const {
  nodes.push_back({instance("reshape", {}, {rank, shape.size()}), {argument}, {shape.begin(), shape.end()}});
  return nodes;
}

/// Returns a constant that is a part of a leaf as a term: reshaped, cut, transposed, reshaped, as far as needed.
std::vector<TermNode> ConstantTerms::view(const Leaf& leaf, ValueId constant) {
  const auto& view = constants_.view(constant, leaf.second);
  if (!view) return {};
  std::vector<TermNode> nodes;
  std::vector<std::int64_t> shape = shape_of(bank_.value(leaf.second).type);
  const std::vector<std::int64_t> given = shape_of(bank_.value(constant).type);
  const auto argument = [&] { return nodes.empty() ? leaf.first : last_of(nodes); };
  const auto reshape = [&](const std::vector<std::int64_t>& to) {
    if (shape != to) nodes = reshaped(std::move(nodes), argument(), shape.size(), to);
    shape = to;
  };
  reshape(view->dims);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const algebra::InstanceId split = instance("split", {{"axis", static_cast<std::int64_t>(d)}}, {shape.size()});
    const std::int64_t begin = view->begins[d], extent = view->extents[d];
    if (begin > 0) nodes.push_back({split, {argument()}, {begin}, 1});
    if (begin + extent < shape[d]) nodes.push_back({split, {argument()}, {extent}, 0});
    shape[d] = extent;
  }
  if (!std::ranges::is_sorted(view->perm)) {
    std::vector<std::int64_t> box = shape;
    std::erase(box, 1);
    reshape(box);
    nodes.push_back({instance("transpose", {{"perm", view->perm}}, {shape.size()}), {argument()}, {}});
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = box[static_cast<std::size_t>(view->perm[d])];
  }
  reshape(given);
  return nodes;
}

/// Returns the product of a leaf and a number, or of a matrix and a number for each row or column.
std::optional<ConstantTerm> ConstantTerms::scaled(ValueId constant, const Leaf& leaf) {
  const algebra::InstanceId scale = instance("scale", {}, {bank_.value(constant).type->size(), 0});
  for (const auto& [factor, value] : numbers_) {
    if (factor == leaf.first) continue;
    if (auto found = confirmed(constant, {{scale, {leaf.first, factor}, {}}})) return found;
  }
  const std::vector<std::int64_t> shape = shape_of(bank_.value(constant).type);
  if (shape.size() != 2) return std::nullopt;
  const algebra::InstanceId rows = instance("mul_column", {}, {2, 2}), columns = instance("mul_row", {}, {2, 1});
  for (const auto& [factors, value] : leaves_) {
    const std::vector<std::int64_t> given = shape_of(bank_.value(value).type);
    if (given == std::vector{shape[1]}) {
      if (auto found = confirmed(constant, {{columns, {leaf.first, factors}, {}}})) return found;
    }
    if (given != std::vector{shape[0]}) continue;
    std::vector<TermNode> nodes = reshaped({}, factors, 1, {shape[0], 1});
    nodes.push_back({rows, {leaf.first, last_of(nodes)}, {}});
    if (auto found = confirmed(constant, std::move(nodes))) return found;
  }
  return std::nullopt;
}

/// Returns a number as the negative or the reciprocal of another one, or as a product of two or its reciprocal.
std::optional<ConstantTerm> ConstantTerms::number(ValueId constant) {
  const algebra::InstanceId neg = instance("neg", {}, {0}), recip = instance("recip", {}, {0}),
                            mul = instance("mul", {}, {0, 0});
  for (const auto& [a, value] : numbers_) {
    for (const algebra::InstanceId of_one : {neg, recip}) {
      if (auto found = confirmed(constant, {{of_one, {a}, {}}})) return found;
    }
    for (const auto& [b, other] : numbers_) {
      if (b < a) continue;
      std::vector<TermNode> product = {{mul, {a, b}, {}}};
      if (auto found = confirmed(constant, product)) return found;
      product.push_back({recip, {TermNode::inner}, {}});
      if (auto found = confirmed(constant, std::move(product))) return found;
    }
  }
  return std::nullopt;
}

/// Returns leaves one after the other along an axis.
std::optional<ConstantTerm> ConstantTerms::joined(ValueId constant) {
  const std::vector<std::int64_t> shape = shape_of(bank_.value(constant).type);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<std::uint32_t> parts;
    std::int64_t end = 0;
    const auto add_part = [&](const Leaf& leaf) {
      std::vector<std::int64_t> part = shape_of(bank_.value(leaf.second).type);
      if (part.size() != shape.size()) return false;
      const std::int64_t extent = std::exchange(part[axis], shape[axis]);
      if (part != shape || extent == shape[axis] || !constants_.has_block(constant, axis, end, leaf.second))
        return false;
      parts.push_back(leaf.first);
      end += extent;
      return true;
    };
    while (end < shape[axis] && parts.size() < max_parts && std::ranges::any_of(leaves_, add_part)) {
    }
    if (end < shape[axis]) continue;
    const algebra::InstanceId concat =
        instance("concat", {{"axis", static_cast<std::int64_t>(axis)}}, {shape.size(), shape.size()});
    std::vector<TermNode> nodes;
    for (std::size_t p = 1; p < parts.size(); ++p)
      nodes.push_back({concat, {p == 1 ? parts[0] : last_of(nodes), parts[p]}, {}});
    if (auto found = confirmed(constant, std::move(nodes))) return found;
  }
  return std::nullopt;
}

/// Returns a product of two leaves, or the sum of a leaf and another one or such a product, which may be scaled.
std::optional<ConstantTerm> ConstantTerms::added(ValueId constant) {
  const ValueType type = bank_.value(constant).type;
  const std::size_t rank = type->size();
  const algebra::InstanceId add = instance("add", {}, {rank, rank}), scale = instance("scale", {}, {rank, 0});
  std::vector<Summand> summands = products(constant);
  for (const Summand& product : summands) {
    if (auto found = confirmed(constant, product.nodes, product.multiplications)) return found;
  }
  std::vector<std::uint32_t> bases;
  for (const auto& [number, value] : leaves_) {
    if (bank_.value(value).type == type) bases.push_back(number);
  }
  for (const std::uint32_t base : bases) summands.push_back({{}, base});
  for (const std::uint32_t base : bases) {
    for (const Summand& summand : summands) {
      if (summand.value == base) continue;
      std::vector<TermNode> sum = summand.nodes;
      sum.push_back({add, {base, summand.value}, {}});
      if (auto found = confirmed(constant, std::move(sum), summand.multiplications)) return found;
      for (const auto& [factor, value] : numbers_) {
        std::vector<TermNode> scaled = summand.nodes;
        scaled.push_back({scale, {summand.value, factor}, {}});
        scaled.push_back({add, {base, last_of(scaled)}, {}});
        if (auto found = confirmed(constant, std::move(scaled), summand.multiplications)) return found;
      }
    }
  }
  return std::nullopt;
}

/// Returns the products of two leaves, also transposed ones, that have the constant's shape.
std::vector<ConstantTerms::Summand> ConstantTerms::products(ValueId constant) const {
  const std::vector<std::int64_t> shape = shape_of(bank_.value(constant).type);
  std::vector<Summand> products;
  if (shape.size() != 2) return products;
  const std::vector<std::int64_t> turned = {1, 0};
  const algebra::InstanceId transpose = instance("transpose", {{"perm", turned}}, {2}),
                            matmul = instance("matmul", {}, {2, 2});
  const auto add = [&](const Leaf& a, bool turns_a, const Leaf& b, bool turns_b) {
    const std::vector<std::int64_t> left = shape_of(bank_.value(a.second).type),
                                    right = shape_of(bank_.value(b.second).type);
    if (left.size() != 2 || right.size() != 2 || left[turns_a] != shape[0] || right[!turns_b] != shape[1]) return;
    const std::int64_t multiplications = shape[0] * shape[1] * right[turns_b];
    if (left[!turns_a] != right[turns_b] || multiplications > max_multiplications) return;
    Summand& product = products.emplace_back();
    const auto operand = [&](std::uint32_t leaf, bool turns) {
      if (turns) product.nodes.push_back({transpose, {leaf}, {}});
      return turns ? last_of(product.nodes) : leaf;
    };
    const std::uint32_t first = operand(a.first, turns_a), second = operand(b.first, turns_b);
    product.nodes.push_back({matmul, {first, second}, {}});
    product.value = last_of(product.nodes);
    product.multiplications = multiplications;
  };
  for (const Leaf& a : leaves_) {
    for (const Leaf& b : leaves_) {
      if (a.first == b.first) continue;
      for (const bool turns_a : {false, true}) {
        for (const bool turns_b : {false, true}) add(a, turns_a, b, turns_b);
      }
    }
  }
  return products;
}

/// Returns the term if it computes the constant's elements.
std::optional<ConstantTerm> ConstantTerms::confirmed(ValueId constant, std::vector<TermNode> nodes,
                                                     std::int64_t multiplications) {
  work_ += multiplications;
  if (nodes.empty() || work_ > max_multiplications) return std::nullopt;
  std::vector<ValueId> values;
  for (const TermNode& node : nodes) {
    std::vector<ValueId> arguments;
    for (const std::uint32_t argument : node.arguments) {
      const auto leaf = leaves_.find(argument);
      arguments.push_back(argument >= TermNode::inner ? values[argument - TermNode::inner]
                          : leaf != leaves_.end()     ? leaf->second
                                                      : numbers_.at(argument));
    }
    const auto created = bank_.apply(node.instance, arguments, node.sizes, bank_.value(constant).type.data_type);
    if (!created) return std::nullopt;
    values.push_back(bank_.node(*created).outputs[node.output]);
  }
  const auto difference = constants_.difference(values.back(), constant);
  return difference ? std::optional(ConstantTerm{std::move(nodes), *difference}) : std::nullopt;
}

}  // namespace rulemill::optimize
