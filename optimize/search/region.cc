#include "optimize/search/region.h"

#include <algorithm>
#include <set>

#include "optimize/model/numbers.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

RegionBuilder::RegionBuilder(const GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs) : bank_(bank) {
  const std::vector<NodeId> live = bank.live_nodes(outputs);
  uses_ = count_uses(bank, live, outputs);
  std::unordered_map<std::uint32_t, NodeId> last;  // by origin
  for (auto id = live.rbegin(); id != live.rend(); ++id) {
    if (!is_computed(*id)) continue;
    if (const std::uint32_t origin = bank.node(*id).origin; origin != Node::no_origin) {
      const auto [found, first] = last.emplace(origin, *id);
      if (!first) add_fused_pair(found->second, *id, /*encoded=*/true);
    }
    if (const std::optional<CompositeMatch>& match = fusion.composite(*id)) {
      for (NodeId inner : match->inner) add_fused_pair(*id, inner, /*encoded=*/true);
    }
    if (const auto group = fusion.one_pass(*id)) {
      for (NodeId inner : group->inner) add_fused_pair(*id, inner, /*encoded=*/false);
    }
  }
}

bool RegionBuilder::is_computed(NodeId id) const {
  return bank_.node(id).kind == Node::Kind::Algebra && !bank_.node(id).constant;
}

void RegionBuilder::add_fused_pair(NodeId last, NodeId inner, bool encoded) {
  if (!is_computed(inner)) return;
  if (encoded) encoded_.emplace(last, inner);
  inner_of_[last].push_back(inner);
  last_of_[inner].push_back(last);
}

/// Returns the computed nodes, sorted, with the numbers that they read and the inner nodes of their fusions, and
/// without inner nodes of others.
std::vector<NodeId> RegionBuilder::complete(const std::vector<NodeId>& nodes) const {
  std::set<NodeId> inside;
  for (NodeId id : nodes) {
    if (is_computed(id)) inside.insert(id);
  }
  const std::set<NodeId> given = inside;
  for (NodeId id : given) {
    const auto last = last_of_.find(id);
    const auto elsewhere = [&](NodeId each) { return !given.contains(each); };
    if (last != last_of_.end() && std::ranges::all_of(last->second, elsewhere)) inside.erase(id);
    if (const auto inner = inner_of_.find(id); inner != inner_of_.end())
      inside.insert(inner->second.begin(), inner->second.end());
  }
  std::set<NodeId> numbers;
  for (NodeId id : inside) {
    for (ValueId argument : bank_.node(id).arguments) {
      if (is_named_constant(bank_.node_of(argument))) numbers.insert(bank_.value(argument).node);
    }
  }
  inside.merge(numbers);
  return {inside.begin(), inside.end()};
}

Region RegionBuilder::build_region(const std::vector<NodeId>& nodes) const {
  Region region;
  const std::vector<NodeId> inside = complete(nodes);
  std::unordered_map<ValueId, std::uint32_t> numbers, inner_uses;
  const auto is_inside = [&](NodeId id) { return std::ranges::binary_search(inside, id); };
  for (NodeId id : inside) {
    for (ValueId argument : bank_.node(id).arguments) {
      ++inner_uses[argument];
      if (is_inside(bank_.value(argument).node)) continue;
      const auto number = static_cast<std::uint32_t>(region.leaves.size());
      if (numbers.emplace(argument, number).second)
        region.leaves.push_back({argument, bank_.node_of(argument).constant});
    }
  }
  std::uint32_t next = region.graph.leaves = static_cast<std::uint32_t>(region.leaves.size());
  for (std::uint32_t i = 0; i < inside.size(); ++i) {
    const Node& node = bank_.node(inside[i]);
    RegionNode region_node{node.instance, {}, node.sizes, next, static_cast<std::uint32_t>(node.outputs.size()), i};
    for (ValueId argument : node.arguments) region_node.arguments.push_back(numbers.at(argument));
    region.graph.nodes.push_back(std::move(region_node));
    region.origins.push_back(node.origin);
    for (ValueId output : node.outputs) {
      const auto used = uses_.find(output);
      if (!node.constant && used != uses_.end() && used->second > inner_uses[output]) {
        region.outputs.push_back(output);
        region.graph.outputs.push_back(next);
      }
      numbers.emplace(output, next++);
    }
    const auto inner_nodes = inner_of_.find(inside[i]);
    if (inner_nodes == inner_of_.end()) continue;
    for (NodeId inner : inner_nodes->second) {
      if (!encoded_.contains({inside[i], inner})) continue;
      region.graph.fused_pairs.push_back(
          {i, static_cast<std::uint32_t>(std::ranges::lower_bound(inside, inner) - inside.begin())});
    }
  }
  return region;
}

std::string region_key(const Region& region, const GraphBank& bank) {
  std::string key;
  const auto add = [&](std::uint64_t number) { key += std::to_string(number) + ' '; };
  for (const RegionLeaf& leaf : region.leaves) {
    const ValueType& type = bank.value(leaf.value).type;
    key += (leaf.constant ? "c" : "v") + std::to_string(static_cast<int>(type.data_type)) + ' ' +
           bank.symbols().to_string(*type) + '\n';
  }
  for (const RegionNode& node : region.graph.nodes) {
    add(static_cast<std::uint32_t>(node.instance));
    for (std::uint32_t argument : node.arguments) add(argument);
    key += bank.symbols().to_string(node.sizes) + '\n';
  }
  for (std::uint32_t output : region.graph.outputs) add(output);
  key += '\n';
  for (const RegionGraph::FusedPair& pair : region.graph.fused_pairs) {
    add(pair.last);
    add(pair.inner);
  }
  return key;
}

namespace {

bool is_real(algebra::ScalarKind kind) { return kind != algebra::ScalarKind::Bool && kind != algebra::ScalarKind::Int; }

/// The float types of a region graph's values. All real inputs and outputs of a node have one type, so types spread
/// from leaves and outputs to nodes without real inputs.
class FloatTypes {
 public:
  FloatTypes(const RegionGraph& graph, const Region& region, std::span<const ValueId> leaves, const GraphBank& bank)
      : bank_(bank), types_(leaves.size()) {
    for (std::size_t i = 0; i < leaves.size(); ++i) types_[i] = bank.value(leaves[i]).type.data_type;
    for (const RegionNode& node : graph.nodes) types_.resize(types_.size() + node.outputs);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i)
      types_[graph.outputs[i]] = bank.value(region.outputs[i]).type.data_type;
    do {
      has_changed_ = false;
      for (const RegionNode& node : graph.nodes) spread(node);
    } while (has_changed_);
  }

  DataType of(const RegionNode& node) const { return types_[node.first_output].value_or(DataType::Float32); }

 private:
  void spread(const RegionNode& node) {
    const algebra::OperatorInstance& instance = bank_.library().instance(node.instance);
    std::vector<std::uint32_t> real;
    for (std::size_t i = 0; i < node.arguments.size(); ++i) {
      if (is_real(instance.input_scalar_kinds[i])) real.push_back(node.arguments[i]);
    }
    for (std::uint32_t i = 0; i < node.outputs; ++i) {
      if (is_real(instance.outputs[i].scalar_kind)) real.push_back(node.first_output + i);
    }
    const auto known = std::ranges::find_if(real, [&](std::uint32_t value) { return types_[value].has_value(); });
    if (known == real.end()) return;
    for (const std::uint32_t value : real) {
      if (types_[value]) continue;
      types_[value] = types_[*known];
      has_changed_ = true;
    }
  }

  const GraphBank& bank_;
  std::vector<std::optional<DataType>> types_;  // by value
  bool has_changed_ = false;
};

}  // namespace

std::optional<std::vector<ValueId>> build_graph(const RegionGraph& graph, const Region& region,
                                                std::span<const ValueId> leaves, GraphBank& bank) {
  RM_CHECK(graph.leaves == leaves.size(), "a graph is built with a value for each leaf");
  const FloatTypes types(graph, region, leaves, bank);
  std::vector<ValueId> values(leaves.begin(), leaves.end());
  for (const RegionNode& node : graph.nodes) {
    std::vector<ValueId> arguments;
    for (std::uint32_t argument : node.arguments) arguments.push_back(values[argument]);
    const auto created = bank.apply(node.instance, arguments, node.sizes, types.of(node));
    if (!created) return std::nullopt;
    if (node.original != RegionNode::not_original) bank.set_origin(*created, region.origins[node.original]);
    values.insert(values.end(), bank.node(*created).outputs.begin(), bank.node(*created).outputs.end());
  }
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    outputs.push_back(values[graph.outputs[i]]);
    if (bank.value(outputs.back()).type.data_type != bank.value(region.outputs[i]).type.data_type) return std::nullopt;
  }
  return outputs;
}

}  // namespace rulemill::optimize
