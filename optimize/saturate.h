// Equality saturation on regions of a model graph (egg, POPL'21; TENSAT, MLSys'21): a region is put into the typed
// e-graph of derivations, the rules say what is equal, and the cheapest graph is taken out. Sharing counts once, what
// is computed from constants costs nothing. What was solved is remembered: a block that a model repeats costs one
// search.
#pragma once

#include <memory>
#include <unordered_map>

#include "algebra/rules/rule_set.h"
#include "egraph/derive.h"
#include "egraph/saturate.h"
#include "optimize/cost.h"
#include "optimize/exact_extraction.h"
#include "optimize/region.h"
#include "optimize/search.h"

namespace rulemill::optimize {

struct SaturationOptions {
  static egraph::Limits with_growth(egraph::Limits limits, std::uint32_t operators) {
    limits.growth = limits.extra_operators = operators;
    return limits;
  }

  egraph::Limits limits{.iterations = 12,
                        .nodes = 3000,
                        .matches = 60000,
                        .matches_each = 64,
                        .tries_each = 0xffffffff,
                        .growth = 2,
                        .rewrite_constants = false,
                        .extra_operators = 2};
  egraph::Limits core_limits = with_growth(limits, 6);  // of core rules alone
  std::size_t restarts = 12;                            // at most
  ExactLimits exact;                                    // of extractions that are made exactly, too
  std::size_t passes = 20;                              // over the choices of an extraction, for better ones
};

/// A region's cheapest graph over the same leaves, the rules that lead to it in the order in which they fired, and
/// whether the rules had nothing more to say.
struct Solution {
  RegionGraph graph;
  std::vector<Step> steps;
  bool saturated = false;
  std::uint32_t nodes = 0;  // of the e-graph
  std::size_t restarts = 0;
  std::size_t extracted = 0, exactly = 0;  // graphs taken out of an e-graph
};

class Saturator {
 public:
  /// `terms` and the bank's symbols are the rules' own.
  Saturator(GraphBank& bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules,
            const CostModel& cost, SaturationOptions options = {});
  ~Saturator();

  /// The region itself, without steps, if nothing cheaper is found. Valid until the next call.
  const Solution& solve(const Region& region);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rulemill::optimize
