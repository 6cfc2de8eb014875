#include "optimize/equal/prover/general_window.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "optimize/equal/prover/window.h"

namespace rulemill::optimize {

namespace {

/// The numbers of a window as sizes. Open sizes get other names, because those of a model are no names of rules.
class GeneralSizes {
 public:
  GeneralSizes(algebra::Symbols& symbols, std::vector<algebra::Poly>& names, const std::set<std::int64_t>& numbers,
               const std::set<algebra::Atom>& open, bool has_products)
      : symbols_(symbols) {
    std::size_t used = 0;
    const auto next_name = [&] {
      if (used == names.size()) names.emplace_back(symbols.fresh_size("n"));
      return names[used++];
    };
    for (const std::int64_t number : numbers) {
      const auto size = has_products ? product(number) : std::nullopt;
      general_.emplace(number, size ? *size : next_name());
      if (!size) actual_.emplace(symbols.atoms(names[used - 1])[0], algebra::Poly(number));
    }
    for (const algebra::Atom atom : open) {
      open_.emplace(atom, next_name());
      actual_.emplace(symbols.atoms(names[used - 1])[0], algebra::Poly(atom));
    }
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

  GeneralWindow run(NumberForm form, std::vector<algebra::Poly>& names) {
    const GeneralSizes general(bank_.symbols(), names, numbers(form), open_sizes(), form != NumberForm::Independent);
    result_.actual = general.actual();
    for (const RegionLeaf& leaf : window_.leaves) {
      const ValueType& type = bank_.value(leaf.value).type;
      result_.leaves.push_back({ValueType(general(*type), type.data_type), leaf.constant, std::nullopt});
    }
    for (const RegionNode& node : window_.graph.nodes)
      result_.nodes.push_back({node.instance, node.arguments, general(node.sizes)});
    for (std::size_t side = 0; side < 2; ++side)
      reached_[side] = values_below(window_.graph, window_.graph.outputs[side]);
    find_operators();
    if (form == NumberForm::Literals) find_numbers();
    find_definitions();
    for (GeneralLeaf& leaf : result_.leaves) {
      if (leaf.computed) leaf.computed->sizes = general(std::move(leaf.computed->sizes));
    }
    order_leaves();
    return std::move(result_);
  }

 private:
  std::set<std::int64_t> numbers(NumberForm form) const {
    const std::set<std::int64_t> fixed = large_parameters();
    std::set<std::int64_t> found;
    for_each_size([&](const algebra::Poly& size) {
      const std::int64_t number = size.constant().value_or(0);
      if (number > (form == NumberForm::SmallLiteral ? max_small_number : 1) && !fixed.contains(number))
        found.insert(number);
    });
    return found;
  }

  std::set<std::int64_t> large_parameters() const {
    std::set<std::int64_t> found;
    for (const RegionNode& node : window_.graph.nodes) {
      for (const auto& [name, value] : bank_.library().instance(node.instance).parameters) {
        const auto* number = std::get_if<std::int64_t>(&value);
        if (number != nullptr && *number > max_small_number) found.insert(*number);
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
      result_.leaves[leaf].computed = GeneralNode{node.instance, {}, node.sizes};
    }
  }

  void find_numbers() {
    for (const char* name : {"one", "two", "half", "zeros", "add", "mul", "neg"}) {
      if (!bank_.library().has_operator(name)) return;
    }
    for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) {
      const Node& node = bank_.node_of(window_.leaves[leaf].value);
      if (node.kind != Node::Kind::Constant || !type_of(leaf)->empty() || result_.leaves[leaf].computed) continue;
      result_.leaves[leaf].number = small_number(bank_.tensor(node.source)->values[0]);
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

  /// Finds constants of one side that an operator computes from those of the other: what an optimizer stored in their
  /// place.
  void find_definitions() {
    std::set<std::uint32_t> used;  // as arguments
    for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) {
      GeneralLeaf& given = result_.leaves[leaf];
      if (!given.constant || given.computed || given.number || is_shared(leaf) || used.contains(leaf)) continue;
      if (!is_float(given.type.data_type)) continue;
      for (std::uint32_t other = 0; other < window_.leaves.size() && !given.computed; ++other) {
        const GeneralLeaf& argument = result_.leaves[other];
        if (!is_of_other_side(leaf, other) || !argument.constant || argument.computed || argument.number) continue;
        given.computed = definition(leaf, other);
      }
      if (given.computed) used.insert(given.computed->arguments.begin(), given.computed->arguments.end());
    }
  }

  std::optional<GeneralNode> definition(std::uint32_t leaf, std::uint32_t other) {
    const ValueType given = type_of(leaf), type = type_of(other);
    if (given->size() == 2 && type->size() == 2 && (*given)[0] == (*type)[1] && (*given)[1] == (*type)[0]) {
      const std::uint32_t matrix[] = {2};
      const std::vector<std::int64_t> perm = {1, 0};
      const algebra::InstanceId transpose = bank_.library().instantiate("transpose", {{"perm", perm}}, matrix).id;
      if (auto found = confirmed(leaf, {transpose, {other}, {}})) return found;
    }
    if (given != type) return reshaped(leaf, other);
    const std::uint32_t rank[] = {static_cast<std::uint32_t>(given->size())};
    const auto negative = confirmed(leaf, {bank_.library().instantiate("neg", {}, rank).id, {other}, {}});
    return negative ? negative : scaled(leaf, other);
  }

  std::optional<GeneralNode> reshaped(std::uint32_t leaf, std::uint32_t other) {
    const ValueType given = type_of(leaf), type = type_of(other);
    if (given->empty() || type->empty()) return std::nullopt;
    const std::uint32_t ranks[] = {static_cast<std::uint32_t>(type->size()), static_cast<std::uint32_t>(given->size())};
    return confirmed(leaf, {bank_.library().instantiate("reshape", {}, ranks).id, {other}, *given});
  }

  /// Returns the product of the other leaf and a number, within rounding.
  std::optional<GeneralNode> scaled(std::uint32_t leaf, std::uint32_t other) {
    const std::uint32_t ranks[] = {static_cast<std::uint32_t>(type_of(leaf)->size()), 0};
    for (std::uint32_t factor = 0; factor < window_.leaves.size(); ++factor) {
      const auto& computed = result_.leaves[factor].computed;
      if (!is_of_other_side(leaf, factor) || factor == other || !window_.leaves[factor].constant ||
          !type_of(factor)->empty())
        continue;
      if (computed && !computed->arguments.empty()) continue;
      const algebra::InstanceId scale = bank_.library().instantiate("scale", {}, ranks).id;
      if (auto found = confirmed(leaf, {scale, {other, factor}, {}})) return found;
    }
    return std::nullopt;
  }

  /// Returns the node if it computes the leaf's elements.
  std::optional<GeneralNode> confirmed(std::uint32_t leaf, GeneralNode node) {
    std::vector<ValueId> arguments;
    for (const std::uint32_t argument : node.arguments) arguments.push_back(window_.leaves[argument].value);
    const auto created = bank_.apply(node.instance, arguments, node.sizes, type_of(leaf).data_type);
    if (!created) return std::nullopt;
    const auto difference = constants_.difference(bank_.node(*created).outputs[0], window_.leaves[leaf].value);
    if (!difference) return std::nullopt;
    ++result_.constants;
    result_.constant_difference = std::max(result_.constant_difference, *difference);
    return node;
  }

  void order_leaves() {
    for (const bool from_others : {false, true}) {
      for (std::uint32_t leaf = 0; leaf < result_.leaves.size(); ++leaf) {
        const auto& computed = result_.leaves[leaf].computed;
        if ((computed && !computed->arguments.empty()) == from_others) result_.leaf_order.push_back(leaf);
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
                         const Region& window, NumberForm form, std::vector<algebra::Poly>& names) {
  return Generalization(bank, constants, operators, window).run(form, names);
}

}  // namespace rulemill::optimize
