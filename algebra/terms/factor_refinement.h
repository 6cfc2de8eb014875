// Factor refinement: replaces the sizes of an equation between two products by sizes that are their common factors.
#pragma once

#include <optional>
#include <vector>

#include "algebra/terms/typing.h"

namespace rulemill::algebra {

/// An equation p₁·p₂·… = r₁·r₂·… between distinct sizes, and the common factors: p_i = Π_j s_ij, r_j = Π_i s_ij.
struct ProductEquation {
  std::vector<Atom> left, right;                  // p_i, r_j
  std::vector<std::vector<Atom>> common_factors;  // s_ij
};

/// A rule without such equations, and the equations it had, in the order of their refinement. A common factor of one
/// can be a size of a later one.
struct RefinedRule {
  TypedRule rule;
  std::vector<ProductEquation> equations;
};

/// Rewrites the rule over the common factors s_ij, without equations of products. Positive integers satisfy the
/// equation if and only if such factors exist (both sides have the same prime factors, which the s_ij distribute), so
/// the two rules are equivalent. A factor is named after its two sizes, p_r. The variables stay the same. nullopt if
/// there is no such equation.
std::optional<RefinedRule> refine_factors(const TypedRule& typed, TermBank& bank, Symbols& symbols);

/// Extends `values`, which has the values of the equations' sizes, by values of the common factors: each factor of a
/// p_i goes to the first r_j that still has it. False if a value is not a product of sizes and a positive number, or if
/// the two sides of an equation are different products.
bool distribute_factors(const std::vector<ProductEquation>& equations, Substitution& values);

}  // namespace rulemill::algebra
