// Equality saturation on regions of a model graph (egg, POPL'21; TENSAT, MLSys'21): the region is added to a typed
// e-graph, the rules are applied, and the cheapest graph is extracted. Shared nodes count once, and nodes on constants
// are free. Solutions are cached: a block that a model repeats is searched once.
#pragma once

#include <memory>
#include <set>

#include "algebra/rules/rule_set.h"
#include "egraph/derive.h"
#include "egraph/saturate.h"
#include "optimize/cost/cost_model.h"
#include "optimize/search/derivation.h"
#include "optimize/search/ilp_extraction.h"
#include "optimize/search/region.h"
#include "optimize/search/search_result.h"

namespace rulemill::optimize {

struct SaturationOptions {
  static egraph::Limits with_growth(egraph::Limits limits, std::uint32_t operators) {
    limits.max_growth_over_class = limits.max_growth_over_goal = operators;
    return limits;
  }

  egraph::Limits limits{.iterations = 12,
                        .nodes = 3000,
                        .matches = 60000,
                        .matches_per_rule = 64,
                        .node_visits_per_rule = 0xffffffff,
                        .rewrite_constants = false,
                        .max_growth_over_class = 2,
                        .max_growth_over_goal = 2};
  egraph::Limits core_limits = with_growth(limits, 6);  // with core rules only
  std::size_t max_restarts = 12;
  IlpLimits ilp;
  std::size_t passes = 20;  // improvement passes of an extraction
  std::vector<int> opsets;  // in which the result can be written; empty: any
};

/// A region's cheapest graph over the same leaves, with the rules that lead to it in the order of their application.
struct Solution {
  RegionGraph graph;
  std::vector<RewriteStep> steps;
  std::shared_ptr<Derivation> derivation = std::make_shared<Derivation>();  // the same with their terms
  bool saturated = false;
  std::uint32_t egraph_nodes = 0;
  std::size_t restarts = 0;
  std::size_t extractions = 0, ilp_extractions = 0;
  LimitCounts limits_reached;
};

class Saturator {
 public:
  /// The rules are over `terms` and the bank's symbols.
  Saturator(GraphBank& bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules,
            const CostModel& cost, SaturationOptions options = {});
  ~Saturator();

  /// Returns the region itself, without steps, if nothing cheaper is found. Valid until the next call.
  const Solution& solve(const Region& region);
  /// Uses only these rules from now on, by their numbers in the rule set, and terms as large as with core rules. They
  /// are so few that limits are reached later.
  void restrict_rules(const std::set<std::uint32_t>& numbers);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rulemill::optimize
