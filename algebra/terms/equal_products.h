// Rules whose condition says that two products of sizes are equal.
#pragma once

#include <optional>

#include "algebra/terms/typing.h"

namespace rulemill::algebra {

/// The same rule without equations p₁·p₂·… = r₁·r₂·… of different sizes: p_i = Π_j s_ij and r_j = Π_i s_ij, for new
/// sizes s_ij. Positive integers satisfy the equation if and only if there are such numbers (both sides have the same
/// prime factors, which are dealt out), so the rule holds if and only if this one does. The new sizes have the names of
/// both, p_r, and the variables are the rule's own. Nothing if there is no such equation.
std::optional<TypedRule> with_equal_products_dealt_out(const TypedRule& typed, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
