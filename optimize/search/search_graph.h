// Search of one graph by the method that the options select, one window at a time.
#pragma once

#include "algebra/rules/specialization.h"
#include "optimize/search/windows.h"

namespace rulemill::optimize {

/// Returns the operator instances and constant shapes of the graph, for which general rules are specialized.
algebra::UsedOperators used_operators(const GraphBank& bank);

struct SearchContext {
  const SearchOptions& options;
  const WindowOptions& windows;
  GraphBank& bank;
  const algebra::TermBank& terms;
  const std::vector<algebra::RuleRecord>& rules;
  Matcher& matcher;         // of these rules
  std::vector<int> opsets;  // in which a result can be written
};

SearchResult search_graph(const SearchContext& context, CostModel& cost, std::span<const ValueId> outputs,
                          const IsExportable& is_exportable);

}  // namespace rulemill::optimize
