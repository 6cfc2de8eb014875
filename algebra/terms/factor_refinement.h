// Factor refinement: replaces the sizes of equations between products by products of common factors.
#pragma once

#include <optional>
#include <vector>

#include "algebra/sizes/minimal_solutions.h"
#include "algebra/terms/typing.h"

namespace rulemill::algebra {

/// Sizes as products of common factors: sizes[i] = Π_j factors[j]^exponents[j][i].
struct CommonFactors {
  std::vector<Atom> sizes, factors;
  std::vector<UnknownsVector> exponents;  // by factor and size
};

/// A rule over common factors instead of some of the original rule's sizes.
struct RefinedRule {
  TypedRule rule;
  CommonFactors factors;
};

/// Rewrites a rule whose condition has equations between products of sizes over common factors of these sizes. Positive
/// integers satisfy the equations if and only if they are such products of positive integers, so the two rules are
/// equivalent. Proof: for each prime, its exponents in the sizes satisfy the equations with sums instead of products,
/// so they are a sum of minimal solutions. Each minimal solution has a factor, with the prime as often as the solution
/// is in that sum. The variables stay the same. A factor of two sizes is named after them, p_r. Later equations stay in
/// the condition if products become too long. nullopt if there is no such equation.
std::optional<RefinedRule> refine_factors(const TypedRule& typed, TermBank& bank, Symbols& symbols);

/// Extends `values`, which has the values of the sizes, by values of the common factors. False if a value is not a
/// product of sizes and a positive number, or if the values do not satisfy the equations.
bool distribute_factors(const CommonFactors& factors, Substitution& values);

}  // namespace rulemill::algebra
