// Conditions found by the machine: where a rule does not hold in general, the weakest set of equations between its
// sizes under which it does. Sets come smallest first; counterexamples rule most of them out before anything is proved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "prove/refute.h"

namespace rulemill::prove {

struct ConditionLimits {
  std::uint32_t equations = 2;         // in one condition
  std::uint32_t counterexamples = 24;  // collected before the first set is tried
  std::uint32_t sets = 96;             // typed and tested numerically
  std::uint32_t proofs = 12;           // attempted
};

/// The rule under its condition: `typed` has the equations in its shapes, or in rule.condition where a shape cannot say
/// them; `equations` are over the sizes of the general rule.
struct Conditioned {
  algebra::TypedRule typed;
  std::vector<algebra::SizeCondition> equations;
};

/// Equations between sizes of the rule, the more telling first: a quotient (the number of groups) is 1; two quotients
/// are equal (filters per group); sizes of like role, in the same place of two variables, are equal; with an example,
/// any two sizes; a size is 1, with an example alone. Equations that the example breaks are left out.
std::vector<algebra::SizeCondition> equations_between_sizes(const algebra::TypedRule& rule, algebra::Symbols& symbols,
                                                            const std::vector<std::vector<std::int64_t>>* example);

/// The first condition under which `provable` says yes; among those of as many equations, one that leaves every
/// dimension free comes before one under which typing pins a dimension to a number. Deterministic: limits count, they
/// do not time.
std::optional<Conditioned> find_condition(const algebra::TypedRule& rule, algebra::TermBank& bank,
                                          algebra::Symbols& symbols, std::uint64_t seed, const RefuteLimits& refute,
                                          const ConditionLimits& limits,
                                          const std::vector<std::vector<std::int64_t>>* example, Budget& budget,
                                          const std::function<bool(const algebra::TypedRule&)>& provable);

}  // namespace rulemill::prove
