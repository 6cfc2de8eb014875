// The search for conditions: for a rule that does not hold in general, the weakest set of equations between its sizes
// under which it holds. Smaller sets are tried first; counterexamples exclude most sets before any proof.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "prove/refuter/refute.h"

namespace rulemill::prove {

struct ConditionLimits {
  std::uint32_t equations = 2;         // in one condition
  std::uint32_t counterexamples = 24;  // collected before the first set is tried
  std::uint32_t sets = 96;             // typed and evaluated
  std::uint32_t proofs = 12;           // attempted
};

/// A rule with its condition. `typed` has the equations in its shapes, or in rule.condition if shapes cannot express
/// them; `equations` are over the sizes of the rule without the condition.
struct ConditionalRule {
  algebra::TypedRule typed;
  std::vector<algebra::SizeCondition> equations;
};

/// Returns equations between sizes of the rule, likely ones first: a quotient (the number of groups) is 1; two
/// quotients are equal (filters per group); sizes of the same role, the same dimension of two variables, are equal;
/// and, only with an example, any two sizes are equal, or a size is 1. Equations that the example violates are left
/// out.
std::vector<algebra::SizeCondition> equations_between_sizes(const algebra::TypedRule& rule, algebra::Symbols& symbols,
                                                            const std::vector<std::vector<std::int64_t>>* example);

/// Returns the first condition under which `is_provable` returns true: one of the fewest equations. Of these,
/// conditions that the shapes express come first: of the others many hold by no proof, and to find none takes up to a
/// hundred times as long; then those that leave every size free come before those under which typing fixes a size to a
/// number. Deterministic: all limits are counts.
std::optional<ConditionalRule> find_condition(const algebra::TypedRule& rule, algebra::TermBank& bank,
                                              algebra::Symbols& symbols, std::uint64_t seed, const RefuteLimits& refute,
                                              const ConditionLimits& limits,
                                              const std::vector<std::vector<std::int64_t>>* example, Budget& budget,
                                              const std::function<bool(const algebra::TypedRule&)>& is_provable);

}  // namespace rulemill::prove
