#include "optimize/equal/prover/general_window.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "optimize/equal/prover/window.h"
#include "optimize/model/numbers.h"

namespace rulemill::optimize {
namespace {

/// The numbers of a window as sizes. Open sizes get other names, because those of a model are no names of rules.
class GeneralSizes {
 public:
  /// `factors`: of numbers that are multiples of those that stay.
  GeneralSizes(algebra::Symbols& symbols, std::vector<algebra::Poly>& names, const std::set<std::int64_t>& numbers,
               const std::map<std::int64_t, std::int64_t>& factors, const std::set<algebra::Atom>& open,
               bool has_products)
      : symbols_(symbols) {
    std::size_t used = 0;
    const auto next_name = [&](const algebra::Poly& actual) {
      if (used == names.size()) names.emplace_back(symbols.fresh_size("n"));
      actual_.emplace(symbols.atoms(names[used])[0], actual);
      return names[used++];
    };
    for (const std::int64_t number : numbers) {
      const auto factor = factors.find(number);
      const auto size = factor != factors.end() ? multiple(factor->second, number)
                        : has_products          ? product(number)
                                                : std::nullopt;
      const std::int64_t known = size || factor == factors.end() ? 1 : factor->second;
      general_.emplace(number, size ? *size : next_name(number / known) * algebra::Poly(known));
    }
    for (const algebra::Atom atom : open) open_.emplace(atom, next_name(algebra::Poly(atom)));
  }

  const algebra::Substitution& actual() const { return actual_; }

  std::vector<algebra::Poly> operator()(std::vector<algebra::Poly> sizes) const {
    for (algebra::Poly& size : sizes) {
      const auto number = size.constant();
      const auto found = number ? general_.find(*number) : general_.end();
      if (found != general_.end())
        size = found->second;
      else if (!number)
        size = symbols_.substitute(size, open_);
    }
    return sizes;
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

  /// Returns the number as the factor times a known one.
  std::optional<algebra::Poly> multiple(std::int64_t factor, std::int64_t number) const {
    const auto rest = general_.find(number / factor);
    return rest == general_.end() ? std::nullopt : std::optional(rest->second * algebra::Poly(factor));
  }

  algebra::Symbols& symbols_;
  std::map<std::int64_t, algebra::Poly> general_;  // numbers above 1
  algebra::Substitution open_, actual_;
};

/// Numbers that stay if small ones do.
constexpr std::int64_t max_small_number = 16;

class Generalization {
 public:
  Generalization(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators, const Region& window)
      : bank_(bank), constants_(constants), operators_(operators), window_(window) {}

  GeneralWindow run(NumberForm form, std::vector<algebra::Poly>& names, std::span<const KnownConstant> known) {
    const bool has_multiples = form == NumberForm::Multiples;
    const std::set<std::int64_t> fixed = parameters(has_multiples ? 1 : max_small_number);
    const GeneralSizes general(bank_.symbols(), names, numbers(form, fixed),
                               has_multiples ? multiples_of(fixed) : std::map<std::int64_t, std::int64_t>(),
                               open_sizes(), !has_multiples && form != NumberForm::Independent);
    result_.actual = general.actual();
    for (const RegionLeaf& leaf : window_.leaves) {
      const ValueType& type = bank_.value(leaf.value).type;
      result_.leaves.push_back({ValueType(general(*type), type.data_type), leaf.constant});
    }
    for (const RegionNode& node : window_.graph.nodes)
      result_.nodes.push_back({node.instance, node.arguments, general(node.sizes)});
    for (std::size_t side = 0; side < 2; ++side)
      reached_[side] = values_below(window_.graph, window_.graph.outputs[side]);
    find_operators();
    if (form == NumberForm::Literals) find_numbers();
    if (form == NumberForm::Products) find_counts(numbers(form, fixed));
    find_definitions(known);
    for (GeneralLeaf& leaf : result_.leaves) {
      for (TermNode& node : leaf.computed) node.sizes = general(std::move(node.sizes));
    }
    order_leaves();
    return std::move(result_);
  }

 private:
  std::set<std::int64_t> numbers(NumberForm form, const std::set<std::int64_t>& fixed) const {
    std::set<std::int64_t> found;
    if (form == NumberForm::Numbers) return found;
    for_each_size([&](const algebra::Poly& size) {
      const std::int64_t number = size.constant().value_or(0);
      if (number > (form == NumberForm::SmallLiteral ? max_small_number : 1) && !fixed.contains(number))
        found.insert(number);
    });
    return found;
  }

  /// Numbers above `smallest` among the parameters of operators.
  std::set<std::int64_t> parameters(std::int64_t smallest) const {
    std::set<std::int64_t> found;
    for (const RegionNode& node : window_.graph.nodes) {
      for (const auto& [name, value] : bank_.library().instance(node.instance).parameters) {
        const auto* number = std::get_if<std::int64_t>(&value);
        if (number != nullptr && *number > smallest) found.insert(*number);
      }
    }
    return found;
  }

  /// Returns the sizes of inputs that are multiples of others, with the largest such factor.
  std::map<std::int64_t, std::int64_t> multiples_of(const std::set<std::int64_t>& factors) const {
    std::map<std::int64_t, std::int64_t> found;
    for (const RegionLeaf& leaf : window_.leaves) {
      for (const algebra::Poly& size : *bank_.value(leaf.value).type) {
        const std::int64_t number = leaf.constant ? 0 : size.constant().value_or(0);
        for (const std::int64_t factor : factors) {
          if (number > factor && number % factor == 0) found[number] = factor;
        }
      }
    }
    return found;
  }

  std::set<algebra::Atom> open_sizes() const {
    std::set<algebra::Atom> found;
    for_each_size([&](const algebra::Poly& size) {
      for (const algebra::Atom atom : bank_.symbols().atoms(size)) found.insert(atom);
    });
    return found;
  }

  template <typename Use>
  void for_each_size(const Use& use) const {
    for (const RegionLeaf& leaf : window_.leaves) std::ranges::for_each(*bank_.value(leaf.value).type, use);
    for (const RegionNode& node : window_.graph.nodes) std::ranges::for_each(node.sizes, use);
  }

  bool is_shared(std::uint32_t leaf) const { return reached_[0].contains(leaf) && reached_[1].contains(leaf); }
  /// Rounding within one model must not be left out.
  bool is_of_other_side(std::uint32_t leaf, std::uint32_t other) const {
    return reached_[reached_[0].contains(leaf) ? 1 : 0].contains(other);
  }
  ValueType type_of(std::uint32_t leaf) const { return bank_.value(window_.leaves[leaf].value).type; }

  /// Finds constants that are stored in place of an operator without inputs. Both sides may use one number for
  /// different purposes, such as a factor of 1 and a summand of 1.
  void find_operators() {
    for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) {
      if (!window_.leaves[leaf].constant || (is_shared(leaf) && !type_of(leaf)->empty())) continue;
      const std::vector<NodeId>& nodes = operators_.nodes_of(window_.leaves[leaf].value);
      if (nodes.empty()) continue;
      const Node& node = bank_.node(nodes[0]);
      result_.leaves[leaf].computed = {{node.instance, {}, node.sizes}};
    }
  }

  void find_numbers() {
    for (const char* name : {"one", "two", "half", "zeros", "add", "mul", "neg", "positive"}) {
      if (!bank_.library().has_operator(name)) return;
    }
    for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) {
      const Node& node = bank_.node_of(window_.leaves[leaf].value);
      if (node.kind != Node::Kind::Constant || !type_of(leaf)->empty() || !result_.leaves[leaf].computed.empty())
        continue;
      const double value = bank_.tensor(node.source)->values[0];
      result_.leaves[leaf].number = small_number(value);
      result_.leaves[leaf].positive = value > 0 && !result_.leaves[leaf].number;
    }
  }

  void find_counts(const std::set<std::int64_t>& sizes) {
    for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) {
      const ValueId value = window_.leaves[leaf].value;
      if (bank_.node_of(value).kind != Node::Kind::Constant || !type_of(leaf)->empty()) continue;
      const auto term = ConstantTerms(bank_, constants_).find_by_sizes(value, sizes);
      if (term && result_.leaves[leaf].computed.empty())
        result_.leaves[leaf].computed = result_.terms[leaf] = term->nodes;
    }
  }

  static std::optional<algebra::Rational> small_number(double value) {
    constexpr std::int64_t max_number = 128;
    for (std::int64_t denominator = 1; denominator <= max_number; denominator *= 2) {
      const double numerator = value * static_cast<double>(denominator);
      if (std::abs(numerator) > static_cast<double>(max_number)) return std::nullopt;
      if (numerator == std::floor(numerator))
        return algebra::make_rational(static_cast<std::int64_t>(numerator), denominator);
    }
    return std::nullopt;
  }

  /// Finds constants of one side that a term computes from those of the other: what an optimizer stored in their place.
  void find_definitions(std::span<const KnownConstant> known) {
    ConstantTerms terms(bank_, constants_);
    std::set<std::uint32_t> used;  // as arguments
    for (const KnownConstant& each : known) {
      GeneralLeaf& given = result_.leaves[each.leaf];
      std::vector<TermNode> nodes;
      if (!given.computed.empty() || given.number || used.contains(each.leaf) || !add_term(each.computed, nodes) ||
          nodes.empty())
        continue;
      given.computed = result_.terms[each.leaf] = nodes;
      for (const TermNode& node : nodes) used.insert(node.arguments.begin(), node.arguments.end());
      ++result_.constants;
    }
    for (const std::uint32_t leaf : largest_first()) {
      GeneralLeaf& given = result_.leaves[leaf];
      if (!given.constant || !given.computed.empty() || given.number || is_shared(leaf) || used.contains(leaf) ||
          !is_float(given.type.data_type))
        continue;
      const auto [leaves, numbers] = constants_for(leaf);
      const auto term = terms.find(window_.leaves[leaf].value, leaves, numbers);
      if (!term) continue;
      given.computed = result_.terms[leaf] = term->nodes;
      for (const TermNode& node : term->nodes) used.insert(node.arguments.begin(), node.arguments.end());
      ++result_.constants;
      result_.constant_difference = std::max(result_.constant_difference, term->difference);
    }
  }

  /// Adds the nodes of a computed constant down to leaves that are not computed from others. Returns the number of its
  /// value in terms; nullopt if it has another constant.
  std::optional<std::uint32_t> add_term(ValueId value, std::vector<TermNode>& nodes) const {
    for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) {
      if (window_.leaves[leaf].value == value)
        return result_.leaves[leaf].depends_on_leaves() ? std::nullopt : std::optional(leaf);
    }
    const Node& node = bank_.node_of(value);
    if (node.kind != Node::Kind::Algebra) return std::nullopt;
    TermNode created{node.instance, {}, node.sizes, bank_.value(value).output};
    for (const ValueId argument : node.arguments) {
      const auto number = add_term(argument, nodes);
      if (!number) return std::nullopt;
      created.arguments.push_back(*number);
    }
    nodes.push_back(std::move(created));
    return TermNode::inner + static_cast<std::uint32_t>(nodes.size() - 1);
  }

  /// A constant that repeats a smaller one is a term of it, and a negative number one of a positive number, which may
  /// stand for any; not the other way around.
  std::vector<std::uint32_t> largest_first() const {
    const auto is_negative = [&](std::uint32_t leaf) {
      const Node& node = bank_.node_of(window_.leaves[leaf].value);
      return node.kind == Node::Kind::Constant && bank_.tensor(node.source)->values[0] < 0;
    };
    const auto elements = [&](std::uint32_t leaf) {
      return type_of(leaf)->empty() && is_negative(leaf) ? -1.5 : -known_elements(type_of(leaf));
    };
    std::vector<std::uint32_t> leaves(window_.leaves.size());
    std::iota(leaves.begin(), leaves.end(), 0);
    std::ranges::stable_sort(leaves, {}, elements);
    return leaves;
  }

  /// Returns the constants that a term for the leaf may use, and those that may be its factors.
  std::pair<std::map<std::uint32_t, ValueId>, std::map<std::uint32_t, ValueId>> constants_for(
      std::uint32_t leaf) const {
    std::map<std::uint32_t, ValueId> leaves, numbers;
    for (std::uint32_t other = 0; other < window_.leaves.size(); ++other) {
      const GeneralLeaf& argument = result_.leaves[other];
      if (!is_of_other_side(leaf, other) || !argument.constant || argument.depends_on_leaves()) continue;
      if (type_of(other)->empty()) numbers.emplace(other, window_.leaves[other].value);
      if (argument.computed.empty() && !argument.number) leaves.emplace(other, window_.leaves[other].value);
    }
    return {std::move(leaves), std::move(numbers)};
  }

  void order_leaves() {
    for (const bool from_others : {false, true}) {
      for (std::uint32_t leaf = 0; leaf < result_.leaves.size(); ++leaf) {
        if (result_.leaves[leaf].depends_on_leaves() == from_others) result_.leaf_order.push_back(leaf);
      }
    }
  }

  GraphBank& bank_;
  ConstantComparison& constants_;
  ConstantOperators& operators_;
  const Region& window_;
  std::set<std::uint32_t> reached_[2];  // values below either output
  GeneralWindow result_;
};

}  // namespace

GeneralWindow generalize(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators,
                         const Region& window, NumberForm form, std::vector<algebra::Poly>& names,
                         std::span<const KnownConstant> known) {
  return Generalization(bank, constants, operators, window).run(form, names, known);
}

}  // namespace rulemill::optimize
