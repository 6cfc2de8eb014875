#include "optimize/graph_search.h"

namespace rulemill::optimize {

algebra::Occurrences occurrences(const GraphBank& bank) {
  algebra::Occurrences found;
  for (std::uint32_t i = 0; i < bank.node_count(); ++i) {
    const Node& node = bank.node(NodeId{i});
    if (node.kind == Node::Kind::Algebra) found.instances.insert(node.instance);
    if (node.kind != Node::Kind::Constant) continue;
    const ValueType& type = bank.value(node.outputs[0]).type;
    if (const auto shape = type ? concrete(*type) : std::nullopt) found.shapes.insert(*shape);
  }
  return found;
}

SearchResult search_graph(const SearchSetting& with, CostModel& cost, std::span<const ValueId> outputs,
                          const Acceptable& acceptable) {
  const Options& options = with.options;
  if (options.search.kind == SearchKind::Backtrack) {
    return search_windows(with.bank, with.matcher, cost, outputs, options.search, options.windows, acceptable);
  }
  SaturationOptions saturation;
  saturation.exact.nodes = with.options.search.exact_nodes;
  Saturator saturator(with.bank, with.terms, with.rules, cost, saturation);
  return saturate_windows(with.bank, saturator, cost, outputs, options.search, options.windows, acceptable);
}

}  // namespace rulemill::optimize
