// The cost that a rule saves, at the shapes at which it was found; for a general rule, at small ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "algebra/rules/rule_set.h"

namespace rulemill::cli {

/// The cost of both sides: multiply-adds plus elements written, of all nodes.
struct RuleCost {
  std::uint64_t source = 0, target = 0;
  /// The fraction of the more expensive side's cost that the other side saves, 0 to 1.
  double gain() const;
};

/// A rank of rules: any rank counts most, then each parameter of any value; each condition on sizes counts against it.
int generality(const algebra::RuleRecord& record, const algebra::TermBank& bank);

/// Uses sizes of at most 8 if the record has no example. Empty if not all sizes are determined.
std::optional<RuleCost> cost_at_example(const algebra::RuleRecord& record, algebra::TermBank& bank,
                                        algebra::Symbols& symbols);

/// The cost of a node at concrete input shapes and size parameters, and the shapes of its outputs.
struct NodeCost {
  std::uint64_t cost = 0;
  std::vector<std::vector<std::int64_t>> outputs;
};
using NodeCosts =
    std::map<std::tuple<algebra::InstanceId, std::vector<std::vector<std::int64_t>>, std::vector<std::int64_t>>,
             std::optional<NodeCost>>;

/// The costs at up to 12 random assignments of small sizes that the rule's condition allows, the same in every run.
/// `known` caches the costs of nodes.
std::vector<RuleCost> costs_at_samples(const algebra::RuleRecord& record, algebra::TermBank& bank,
                                       algebra::Symbols& symbols, NodeCosts& known);

}  // namespace rulemill::cli
