#include "optimize/search/search_graph.h"

namespace rulemill::optimize {

algebra::UsedOperators used_operators(const GraphBank& bank) {
  algebra::UsedOperators found;
  for (std::uint32_t i = 0; i < bank.node_count(); ++i) {
    const Node& node = bank.node(NodeId{i});
    if (node.kind == Node::Kind::Algebra) found.instances.insert(node.instance);
    if (node.kind != Node::Kind::Constant) continue;
    const ValueType& type = bank.value(node.outputs[0]).type;
    if (const auto shape = type ? constant_dims(*type) : std::nullopt) found.constant_shapes.insert(*shape);
  }
  return found;
}

SearchResult search_graph(const SearchContext& context, CostModel& cost, std::span<const ValueId> outputs,
                          const IsExportable& is_exportable) {
  const auto& [options, windows, bank, terms, rules, matcher] = context;
  if (options.method == SearchMethod::Backtracking) {
    return search_windows(bank, matcher, cost, outputs, options, windows, is_exportable);
  }
  SaturationOptions saturation;
  saturation.limits = saturation.limits.scaled(options.effort);
  saturation.core_limits = saturation.core_limits.scaled(options.effort);
  saturation.max_restarts *= options.effort;
  saturation.ilp.nodes = options.ilp_max_nodes;
  Saturator saturator(bank, terms, rules, cost, saturation);
  return saturate_windows(bank, saturator, cost, outputs, options, windows, is_exportable);
}

}  // namespace rulemill::optimize
