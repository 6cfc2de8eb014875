// How the options say that a graph is searched: by saturation or backtracking, window by window.
#pragma once

#include "algebra/rules/general_rules.h"
#include "optimize/optimize.h"

namespace rulemill::optimize {

/// What rules in general form are instantiated at.
algebra::Occurrences occurrences(const GraphBank& bank);

struct SearchSetting {
  const Options& options;
  GraphBank& bank;
  const algebra::TermBank& terms;
  const std::vector<algebra::RuleRecord>& rules;
  Matcher& matcher;  // of these rules
  Fusion& fusion;
};

SearchResult search_graph(const SearchSetting& with, CostModel& cost, std::span<const ValueId> outputs,
                          const Acceptable& acceptable);

}  // namespace rulemill::optimize
