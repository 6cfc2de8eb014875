#include "optimize/equal/prover/window_statement.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "algebra/terms/rule_text.h"

namespace rulemill::optimize {

namespace {

/// Larger windows are left to rules: a proof from the definitions compares whole normal forms.
constexpr std::size_t max_statement_nodes = 16;

/// The numbers of a window as sizes. A number that is a product of two smaller ones is their product.
class GeneralSizes {
 public:
  GeneralSizes(algebra::Symbols& symbols, std::vector<algebra::Poly>& names, const std::set<std::int64_t>& numbers) {
    std::size_t used = 0;
    for (const std::int64_t number : numbers) {
      auto size = product(number);
      if (!size && used == names.size()) names.emplace_back(symbols.fresh_size("n"));
      general_.emplace(number, size ? *size : names[used++]);
    }
  }

  algebra::Poly operator()(const algebra::Poly& size) const {
    const auto number = size.constant();
    const auto found = number ? general_.find(*number) : general_.end();
    return found == general_.end() ? size : found->second;
  }

 private:
  /// Returns the number as a product of two known ones, the larger of them as large as possible.
  std::optional<algebra::Poly> product(std::int64_t number) const {
    for (auto factor = general_.rbegin(); factor != general_.rend(); ++factor) {
      const auto other = number % factor->first == 0 ? general_.find(number / factor->first) : general_.end();
      if (other != general_.end()) return factor->second * other->second;
    }
    return std::nullopt;
  }

  std::map<std::int64_t, algebra::Poly> general_;  // numbers above 1
};

/// Builds the rule of one window.
class StatementBuilder {
 public:
  StatementBuilder(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators, const Region& window)
      : bank_(bank), constants_(constants), operators_(operators), window_(window), terms_(bank.library()) {}

  /// Returns nullopt if the sides depend on different leaves.
  std::optional<std::string> text(std::vector<algebra::Poly>& names) {
    find_sides();
    const GeneralSizes general(bank_.symbols(), names, numbers());
    algebra::Rule rule;
    rule.id = "statement";
    for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) add_leaf(leaf, general);
    for (const RegionNode& node : window_.graph.nodes) {
      std::vector<algebra::TermId> arguments;
      for (const std::uint32_t argument : node.arguments) arguments.push_back(values_[argument]);
      const algebra::NodeId created = terms_.apply(node.instance, arguments, generalized(node.sizes, general));
      for (std::uint32_t o = 0; o < node.outputs; ++o) values_.push_back(terms_.output(created, o));
    }
    rule.source = {values_[window_.graph.outputs[0]]};
    rule.target = {values_[window_.graph.outputs[1]]};
    rule.variables = terms_.variables(rule.source);
    const std::vector<algebra::TermId> others = terms_.variables(rule.target);
    if (!std::ranges::is_permutation(rule.variables, others)) return std::nullopt;
    for (const algebra::TermId variable : rule.variables) rule.shapes.push_back(shapes_.at(variable));
    return algebra::to_string(rule, terms_, bank_.symbols());
  }

 private:
  static algebra::Shape generalized(algebra::Shape shape, const GeneralSizes& general) {
    for (algebra::Poly& dim : shape) dim = general(dim);
    return shape;
  }

  /// Finds the leaves of either side.
  void find_sides() {
    for (std::size_t side = 0; side < 2; ++side) {
      std::set<std::uint32_t>& reached = reached_[side];
      reached.insert(window_.graph.outputs[side]);
      for (auto node = window_.graph.nodes.rbegin(); node != window_.graph.nodes.rend(); ++node) {
        for (std::uint32_t o = 0; o < node->outputs; ++o) {
          if (reached.contains(node->first_output + o)) reached.insert(node->arguments.begin(), node->arguments.end());
        }
      }
    }
  }

  /// A constant of one side that an operator computes, such as a factor of one, is not a variable.
  const Node* computed(std::uint32_t leaf) {
    if (!window_.leaves[leaf].constant || (reached_[0].contains(leaf) && reached_[1].contains(leaf))) return nullptr;
    const std::vector<NodeId>& nodes = operators_.nodes_of(window_.leaves[leaf].value);
    return nodes.empty() ? nullptr : &bank_.node(nodes[0]);
  }

  std::set<std::int64_t> numbers() {
    std::set<std::int64_t> found;
    const auto add = [&](const std::vector<algebra::Poly>& sizes) {
      for (const algebra::Poly& size : sizes) {
        if (const auto number = size.constant(); number && *number > 1) found.insert(*number);
      }
    };
    for (const RegionLeaf& leaf : window_.leaves) add(*bank_.value(leaf.value).type);
    for (const RegionNode& node : window_.graph.nodes) add(node.sizes);
    return found;
  }

  void add_leaf(std::uint32_t leaf, const GeneralSizes& general) {
    const ValueType& type = bank_.value(window_.leaves[leaf].value).type;
    if (const Node* node = computed(leaf)) {
      values_.push_back(terms_.output(terms_.apply(node->instance, {}, generalized(node->sizes, general)), 0));
      return;
    }
    if (const auto other = transposed(leaf)) {
      const algebra::TermId argument[] = {values_[*other]};
      values_.push_back(terms_.output(terms_.apply(transpose(), argument, {}), 0));
      return;
    }
    const auto rank = static_cast<std::uint32_t>(type->size());
    values_.push_back(terms_.variable((window_.leaves[leaf].constant ? "w" : "x") + std::to_string(leaf + 1), rank));
    shapes_[values_.back()] = generalized(*type, general);
  }

  /// Returns an earlier leaf of which this one is the transposed matrix: one side only has either.
  std::optional<std::uint32_t> transposed(std::uint32_t leaf) {
    const RegionLeaf& given = window_.leaves[leaf];
    const ValueType type = bank_.value(given.value).type;  // a copy, because the bank grows
    if (!given.constant || type->size() != 2 || !is_float(type.data_type)) return std::nullopt;
    for (std::uint32_t other = 0; other < leaf; ++other) {
      const RegionLeaf& earlier = window_.leaves[other];
      const ValueType& shape = bank_.value(earlier.value).type;
      if (!earlier.constant || shape->size() != 2 || (*shape)[0] != (*type)[1] || (*shape)[1] != (*type)[0]) continue;
      const ValueId argument[] = {earlier.value};
      const auto node = bank_.apply(transpose(), argument, {}, type.data_type);
      if (node && constants_.difference(bank_.node(*node).outputs[0], given.value) == 0.0) return other;
    }
    return std::nullopt;
  }

  algebra::InstanceId transpose() const {
    const std::uint32_t matrix[] = {2};
    return bank_.library().instantiate("transpose", {{"perm", std::vector<std::int64_t>{1, 0}}}, matrix).id;
  }

  GraphBank& bank_;
  ConstantComparison& constants_;
  ConstantOperators& operators_;
  const Region& window_;
  algebra::TermBank terms_;
  std::set<std::uint32_t> reached_[2];   // values below either output
  std::vector<algebra::TermId> values_;  // by value of the window
  std::unordered_map<algebra::TermId, algebra::Shape> shapes_;
};

}  // namespace

std::optional<std::string> StatementProver::prove(const Region& window) {
  if (!proof_ || window.graph.nodes.size() > max_statement_nodes) return std::nullopt;
  const auto statement = StatementBuilder(bank_, constants_, operators_, window).text(sizes_);
  if (!statement) return std::nullopt;
  const auto [known, is_new] = proved_.try_emplace(*statement, false);
  if (is_new) known->second = proof_(*statement, bank_.library());
  return known->second ? statement : std::nullopt;
}

}  // namespace rulemill::optimize
