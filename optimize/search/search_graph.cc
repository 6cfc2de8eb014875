#include "optimize/search/search_graph.h"

#include "optimize/model/numbers.h"

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

namespace {

SearchResult search_once(const SearchContext& context, CostModel& cost, std::span<const ValueId> outputs,
                         const IsExportable& is_exportable) {
  const auto& [options, windows, bank, terms, rules, matcher, opsets] = context;
  if (options.method == SearchMethod::Backtracking)
    return search_windows(bank, matcher, cost, outputs, options, windows, is_exportable);
  SaturationOptions saturation;
  saturation.limits = saturation.limits.scaled(options.effort);
  saturation.core_limits = saturation.core_limits.scaled(options.effort);
  saturation.max_restarts *= options.effort;
  saturation.ilp.nodes = options.ilp_max_nodes;
  saturation.opsets = opsets;
  Saturator saturator(bank, terms, rules, cost, saturation);
  return saturate_windows(bank, saturator, cost, outputs, options, windows, is_exportable);
}

}  // namespace

/// Numbers that a result computes may be numbers that rules name. Then the result is searched, too.
SearchResult search_graph(const SearchContext& context, CostModel& cost, std::span<const ValueId> outputs,
                          const IsExportable& is_exportable) {
  SearchResult found = search_once(context, cost, outputs, is_exportable);
  while (!found.best.at(0).steps.empty()) {
    const Candidate best = found.best[0];
    const NamedConstants named = name_constants(context.bank, best.outputs, context.terms, context.rules);
    if (named.origins.empty()) break;
    SearchResult next = search_once(context, cost, named.outputs, is_exportable);
    found += next;
    Candidate& cheaper = next.best.at(0);
    if (cheaper.seconds >= best.seconds * (1 - cost_rounding)) break;
    cheaper.steps.insert(cheaper.steps.begin(), best.steps.begin(), best.steps.end());
    cheaper.changes.insert(cheaper.changes.begin(),
                           std::make_shared<const GraphChange>(GraphChange{{}, named.origins}));
    cheaper.changes.insert(cheaper.changes.begin(), best.changes.begin(), best.changes.end());
    found.best.insert(found.best.begin(), std::move(cheaper));
  }
  return found;
}

}  // namespace rulemill::optimize
