#include "optimize/search/search_graph.h"

#include <algorithm>
#include <set>

#include "algebra/properties/positivity.h"
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

/// Numbers that a result computes may be numbers that rules name. Then the result is searched, too.
SearchResult search_by_equations(const SearchContext& context, CostModel& cost, std::span<const ValueId> outputs,
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

/// The values of which an operator further on may compute a number where they are undefined, such as a comparison.
std::set<ValueId> observed_values(const GraphBank& bank, std::span<const ValueId> outputs, algebra::Undefined kind) {
  std::set<ValueId> observed;
  const std::vector<NodeId> nodes = bank.live_nodes(outputs);
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const Node& node = bank.node(*id);
    const bool is_kept = node.kind == Node::Kind::Algebra &&
                         algebra::keeps_undefined(bank.instance(node), bank.library().functions(), kind) &&
                         std::ranges::none_of(node.outputs, [&](ValueId each) { return observed.contains(each); });
    if (!is_kept) observed.insert(node.arguments.begin(), node.arguments.end());
  }
  return observed;
}

/// Applies the first rule that widens and makes the graph cheaper. It replaces the value for all that read it. What has
/// been observed remains so when a rule has removed the observer.
bool widen_once(const SearchContext& context, CostModel& cost, Candidate& graph, std::set<ValueId>& observed,
                const IsExportable& is_exportable) {
  const std::vector<Rewrite> rewrites = context.matcher.rewrites(graph.outputs, {}, /*widening=*/true);
  if (!rewrites.empty()) observed.merge(observed_values(context.bank, graph.outputs, algebra::Undefined::Any));
  for (const Rewrite& rewrite : rewrites) {
    const auto& [before, after] = rewrite.replacements.at(0);
    if (observed.contains(before)) continue;
    std::vector<ValueId> outputs = context.bank.replace(graph.outputs, {{before, after}});
    const double seconds = cost.graph_seconds(outputs);
    if (seconds >= graph.seconds * (1 - cost_rounding) || !is_exportable(outputs)) continue;
    if (context.bank.value(after).name.empty()) context.bank.set_name(after, context.bank.value(before).name);
    graph.steps.push_back({context.matcher.patterns()[rewrite.pattern].rule, false, graph.seconds, seconds});
    graph = {std::move(outputs), seconds, std::move(graph.steps), {}, true};
    return true;
  }
  return false;
}

}  // namespace

/// Rules that widen are no equations: they rewrite the graph and what equations find, and then equations the result.
/// Equations may have removed what observes that a value is NaN: then nothing widens after them.
SearchResult search_graph(const SearchContext& context, CostModel& cost, std::span<const ValueId> outputs,
                          const IsExportable& is_exportable) {
  SearchResult found = search_by_equations(context, cost, outputs, is_exportable);
  std::vector<Candidate> graphs{{{outputs.begin(), outputs.end()}, cost.graph_seconds(outputs), {}}};
  const bool is_observed = !observed_values(context.bank, outputs, algebra::Undefined::NaN).empty();
  if (!is_observed) graphs.push_back(found.best.at(0));
  for (Candidate& graph : graphs) {
    std::set<ValueId> observed;
    while (widen_once(context, cost, graph, observed, is_exportable)) {
      while (widen_once(context, cost, graph, observed, is_exportable)) continue;
      SearchResult next = search_by_equations(context, cost, graph.outputs, is_exportable);
      const Candidate& best = next.best.at(0);
      graph.steps.insert(graph.steps.end(), best.steps.begin(), best.steps.end());
      graph = {best.outputs, best.seconds, std::move(graph.steps), {}, true};
      found += next;
      if (is_observed) break;
    }
    if (graph.widens && graph.seconds < found.best[0].seconds * (1 - cost_rounding))
      found.best.insert(found.best.begin(), std::move(graph));
  }
  return found;
}

}  // namespace rulemill::optimize
