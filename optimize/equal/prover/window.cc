#include "optimize/equal/prover/window.h"

#include <algorithm>
#include <set>
#include <vector>

#include "algebra/terms/rule_text.h"

namespace rulemill::optimize {
namespace {

class WindowBuilder {
 public:
  WindowBuilder(const GraphBank& bank, ValuePair pair, const std::unordered_set<NodeId>& common,
                const WindowLimits& limits)
      : bank_(bank), pair_(pair), common_(common), limits_(limits) {}

  std::optional<EqualityWindow> run() {
    std::set<ValueId> frontier;
    if (!add_second_cone(frontier) || !add_first_cone(frontier)) return std::nullopt;
    if (limits_.opens_constants) open_constants();
    Region region = build();
    if (!has_one_float_type(region)) return std::nullopt;
    return EqualityWindow{std::move(region), {nodes_.begin(), nodes_.end()}};
  }

 private:
  bool is_inner(ValueId value) const {
    const Node& node = bank_.node_of(value);
    return node.kind == Node::Kind::Algebra && !node.constant;
  }

  /// Adds the nodes that only the second model has, and some levels of common ones; collects the values below.
  bool add_second_cone(std::set<ValueId>& frontier) {
    std::vector<ValueId> open = {pair_.after};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      const NodeId producer = bank_.value(value).node;
      if (!is_inner(value) || common_.contains(producer)) {
        if (!bank_.node_of(value).constant) frontier.insert(value);
        continue;
      }
      if (!nodes_.insert(producer).second) continue;
      if (nodes_.size() > limits_.nodes) return false;
      for (const ValueId argument : bank_.node(producer).arguments) open.push_back(argument);
    }
    const bool is_constant = bank_.node_of(pair_.after).constant;
    if (is_constant) frontier.insert(pair_.before);
    const std::uint32_t levels = is_constant ? 2 * limits_.levels + 2 : limits_.levels;
    for (std::uint32_t level = 0; level < levels; ++level) lower(frontier);
    return nodes_.size() <= limits_.nodes;
  }

  /// Replaces the values on the frontier by the arguments of their nodes.
  void lower(std::set<ValueId>& frontier) {
    std::set<ValueId> below;
    for (const ValueId value : frontier) {
      if (!is_inner(value)) {
        below.insert(value);
        continue;
      }
      nodes_.insert(bank_.value(value).node);
      for (const ValueId argument : bank_.node_of(value).arguments) {
        if (!bank_.node_of(argument).constant) below.insert(argument);
      }
    }
    std::erase_if(below, [&](ValueId value) { return nodes_.contains(bank_.value(value).node); });
    frontier = std::move(below);
  }

  /// Adds the nodes of the first value that depend on the frontier. Arguments have smaller ids than their users.
  bool add_first_cone(const std::set<ValueId>& frontier) {
    if (frontier.empty()) return false;
    NodeId first = bank_.value(*frontier.begin()).node;
    for (const ValueId value : frontier) first = std::min(first, bank_.value(value).node);
    std::set<NodeId> reached;
    std::vector<ValueId> open = {pair_.before};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      const NodeId producer = bank_.value(value).node;
      if (frontier.contains(value) || !is_inner(value) || producer < first) continue;
      if (nodes_.contains(producer) || !reached.insert(producer).second) continue;
      if (reached.size() > max_reached_factor * limits_.nodes) return false;
      for (const ValueId argument : bank_.node(producer).arguments) open.push_back(argument);
    }
    for (const NodeId id : reached) {
      const bool depends = std::ranges::any_of(bank_.node(id).arguments, [&](ValueId argument) {
        return frontier.contains(argument) || nodes_.contains(bank_.value(argument).node);
      });
      if (depends) nodes_.insert(id);
    }
    return nodes_.size() <= limits_.nodes;
  }

  void open_constants() {
    std::vector<ValueId> open = {pair_.before, pair_.after};
    for (const NodeId id : nodes_) {
      const std::vector<ValueId>& arguments = bank_.node(id).arguments;
      open.insert(open.end(), arguments.begin(), arguments.end());
    }
    while (!open.empty() && nodes_.size() < limits_.nodes) {
      const NodeId id = bank_.value(open.back()).node;
      open.pop_back();
      const Node& node = bank_.node(id);
      if (!node.constant || node.kind != Node::Kind::Algebra || !nodes_.insert(id).second) continue;
      open.insert(open.end(), node.arguments.begin(), node.arguments.end());
    }
  }

  Region build() const {
    Region region;
    std::unordered_map<ValueId, std::uint32_t> numbers;
    const auto add_leaf = [&](ValueId value) {
      if (nodes_.contains(bank_.value(value).node)) return;
      if (numbers.emplace(value, static_cast<std::uint32_t>(region.leaves.size())).second)
        region.leaves.push_back({value, bank_.node_of(value).constant});
    };
    for (const NodeId id : nodes_) std::ranges::for_each(bank_.node(id).arguments, add_leaf);
    add_leaf(pair_.before);
    add_leaf(pair_.after);
    std::uint32_t next = region.graph.leaves = static_cast<std::uint32_t>(region.leaves.size());
    for (const NodeId id : nodes_) {
      const Node& node = bank_.node(id);
      RegionNode created{node.instance, {}, node.sizes, next, static_cast<std::uint32_t>(node.outputs.size())};
      for (const ValueId argument : node.arguments) created.arguments.push_back(numbers.at(argument));
      for (const ValueId output : node.outputs) numbers.emplace(output, next++);
      region.graph.nodes.push_back(std::move(created));
      region.origins.push_back(node.origin);
    }
    region.outputs = {pair_.before, pair_.after};
    for (const ValueId output : region.outputs) region.graph.outputs.push_back(numbers.at(output));
    return region;
  }

  /// The e-graph knows shapes only, not element types.
  bool has_one_float_type(const Region& region) const {
    std::set<DataType> types;
    const auto add = [&](ValueId value) {
      const ValueType& type = bank_.value(value).type;
      if (type && is_float(type.data_type)) types.insert(type.data_type);
      return type.has_value();
    };
    bool known = std::ranges::all_of(region.leaves, [&](const RegionLeaf& leaf) { return add(leaf.value); });
    for (const NodeId id : nodes_) known = known && std::ranges::all_of(bank_.node(id).outputs, add);
    return known && types.size() <= 1;
  }

  /// The first value's terms may have this many times as many nodes, most of which do not depend on the frontier.
  static constexpr std::size_t max_reached_factor = 20;

  const GraphBank& bank_;
  const ValuePair pair_;
  const std::unordered_set<NodeId>& common_;
  const WindowLimits& limits_;
  std::set<NodeId> nodes_;
};

}  // namespace

bool is_partial(const GraphBank& bank, const Node& node) {
  return node.kind == Node::Kind::Algebra && !node.constant &&
         algebra::applies_partial_function(bank.instance(node), bank.library());
}

std::optional<ValueId> undefined_below(const GraphBank& bank, std::span<const ValueId> values,
                                       const std::unordered_set<ValueId>& defined, ConstantComparison& constants) {
  for (const NodeId id : bank.live_nodes(values)) {
    const Node& node = bank.node(id);
    for (const ValueId output : node.outputs) {
      if (defined.contains(output)) continue;
      if (node.constant ? !constants.is_finite(output) : node.kind == Node::Kind::Opaque || is_partial(bank, node))
        return output;
    }
  }
  return std::nullopt;
}

std::set<std::uint32_t> values_below(const RegionGraph& graph, std::uint32_t output) {
  std::set<std::uint32_t> reached = {output};
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    for (std::uint32_t o = 0; o < node->outputs; ++o) {
      if (reached.contains(node->first_output + o)) reached.insert(node->arguments.begin(), node->arguments.end());
    }
  }
  return reached;
}

std::optional<EqualityWindow> equality_window(const GraphBank& bank, ValuePair pair,
                                              const std::unordered_set<NodeId>& common, const WindowLimits& limits) {
  return WindowBuilder(bank, pair, common, limits).run();
}

}  // namespace rulemill::optimize
