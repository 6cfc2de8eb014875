// The cost that a rule saves, at the shapes at which it was found; for a general rule, at small ones.
#pragma once

#include <optional>

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

}  // namespace rulemill::cli
