// The rule instances that lead from a region to another graph over its leaves: a ground derivation, which a proof of a
// model's result consists of (optimize/equal/proof).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimize/search/region.h"
#include "optimize/search/region_egraph.h"

namespace rulemill::optimize {

/// Values are numbered: leaves from 0 on, outputs of terms from `first_term` on.
struct Derivation {
  static constexpr std::uint32_t first_term = 1U << 31;

  struct Instance {
    std::uint32_t rule = 0;                // number in the rule set
    std::vector<std::uint32_t> variables;  // values, by variable of the rule
    algebra::Substitution sizes;           // of the rule
  };
  std::vector<RegionNode> terms;  // arguments first
  std::vector<Instance> instances;
};

/// Adds applications of rules in the region's e-graph, with the terms that they were applied to.
void add_applications(const RegionEGraph& region, std::span<const std::uint32_t> applications, Derivation& derivation);

/// A rule and what its variables and sizes stand for: both sides are equal.
struct RuleInstance {
  std::uint32_t rule = 0;
  std::vector<ValueId> variables;
  algebra::Substitution sizes;
};

/// Builds the terms with these values as leaves. Leaves out instances with an ill-typed term. `type`: of real values.
std::vector<RuleInstance> build_instances(const Derivation& derivation, std::span<const ValueId> leaves, DataType type,
                                          GraphBank& bank);

}  // namespace rulemill::optimize
