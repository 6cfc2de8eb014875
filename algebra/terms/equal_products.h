// Rules whose condition says that two products of sizes are equal.
#pragma once

#include <optional>
#include <vector>

#include "algebra/terms/typing.h"

namespace rulemill::algebra {

/// An equation p₁·p₂·… = r₁·r₂·… of different sizes, and the sizes that are dealt out: p_i = Π_j s_ij, r_j = Π_i s_ij.
struct EqualProducts {
  std::vector<Atom> left, right;         // p_i, r_j
  std::vector<std::vector<Atom>> parts;  // s_ij
};

/// A rule without such equations, and those that it had, in the order in which they were dealt out: what is dealt out
/// can be a size of a later one.
struct DealtOut {
  TypedRule rule;
  std::vector<EqualProducts> equations;
};

/// The same rule without equations of products, over new sizes s_ij. Positive integers satisfy the equation if and only
/// if there are such numbers (both sides have the same prime factors, which are dealt out), so the rule holds if and
/// only if this one does. The new sizes have the names of both, p_r, and the variables are the rule's own. Nothing if
/// there is no such equation.
std::optional<DealtOut> with_equal_products_dealt_out(const TypedRule& typed, TermBank& bank, Symbols& symbols);

/// Gives values to the sizes that were dealt out, where those of the equations have these: each factor of a p_i goes to
/// the first r_j that has it left. False if a value is no product of sizes and a positive number, or if two sides are
/// not the same product.
bool deal_out(const std::vector<EqualProducts>& equations, Substitution& values);

}  // namespace rulemill::algebra
