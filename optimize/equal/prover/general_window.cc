#include "optimize/equal/prover/general_window.h"

#include <map>
#include <set>

namespace rulemill::optimize {

namespace {

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

  std::vector<algebra::Poly> operator()(std::vector<algebra::Poly> sizes) const {
    for (algebra::Poly& size : sizes) {
      const auto number = size.constant();
      const auto found = number ? general_.find(*number) : general_.end();
      if (found != general_.end()) size = found->second;
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

  std::map<std::int64_t, algebra::Poly> general_;  // numbers above 1
};

class Generalization {
 public:
  Generalization(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators, const Region& window)
      : bank_(bank), constants_(constants), operators_(operators), window_(window) {}

  GeneralWindow run(std::vector<algebra::Poly>& names) {
    find_sides();
    const GeneralSizes general(bank_.symbols(), names, numbers());
    GeneralWindow result;
    for (std::uint32_t leaf = 0; leaf < window_.leaves.size(); ++leaf) {
      const ValueType type = bank_.value(window_.leaves[leaf].value).type;  // a copy, because the bank grows
      GeneralLeaf created{ValueType(general(*type), type.data_type), window_.leaves[leaf].constant, computed(leaf)};
      if (created.computed) created.computed->sizes = general(std::move(created.computed->sizes));
      result.leaves.push_back(std::move(created));
    }
    for (const RegionNode& node : window_.graph.nodes)
      result.nodes.push_back({node.instance, node.arguments, general(node.sizes)});
    return result;
  }

 private:
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

  std::set<std::int64_t> numbers() const {
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

  std::optional<GeneralNode> computed(std::uint32_t leaf) {
    if (!window_.leaves[leaf].constant) return std::nullopt;
    if (!reached_[0].contains(leaf) || !reached_[1].contains(leaf)) {
      const std::vector<NodeId>& nodes = operators_.nodes_of(window_.leaves[leaf].value);
      if (!nodes.empty()) return GeneralNode{bank_.node(nodes[0]).instance, {}, bank_.node(nodes[0]).sizes};
    }
    return transposed(leaf);
  }

  /// Returns the transposition of an earlier leaf whose transposed matrix this one is: one side only has either.
  std::optional<GeneralNode> transposed(std::uint32_t leaf) {
    const ValueId given = window_.leaves[leaf].value;
    const ValueType type = bank_.value(given).type;  // a copy, because the bank grows
    if (type->size() != 2 || !is_float(type.data_type)) return std::nullopt;
    const std::uint32_t matrix[] = {2};
    for (std::uint32_t other = 0; other < leaf; ++other) {
      const RegionLeaf& earlier = window_.leaves[other];
      const ValueType& shape = bank_.value(earlier.value).type;
      if (!earlier.constant || shape->size() != 2 || (*shape)[0] != (*type)[1] || (*shape)[1] != (*type)[0]) continue;
      const algebra::InstanceId transpose =
          bank_.library().instantiate("transpose", {{"perm", std::vector<std::int64_t>{1, 0}}}, matrix).id;
      const ValueId argument[] = {earlier.value};
      const auto node = bank_.apply(transpose, argument, {}, type.data_type);
      if (node && constants_.difference(bank_.node(*node).outputs[0], given) == 0.0)
        return GeneralNode{transpose, {other}, {}};
    }
    return std::nullopt;
  }

  GraphBank& bank_;
  ConstantComparison& constants_;
  ConstantOperators& operators_;
  const Region& window_;
  std::set<std::uint32_t> reached_[2];  // values below either output
};

}  // namespace

GeneralWindow generalize(GraphBank& bank, ConstantComparison& constants, ConstantOperators& operators,
                         const Region& window, std::vector<algebra::Poly>& names) {
  return Generalization(bank, constants, operators, window).run(names);
}

}  // namespace rulemill::optimize
