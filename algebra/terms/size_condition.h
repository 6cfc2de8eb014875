// Polynomials as relations that people read, and back: p ≥ 0 without negative terms, a mod b = k.
#pragma once

#include <optional>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// poly ≥ 0 as a relation between sums without negative terms.
SizeCondition at_least_zero(const Poly& poly);
/// poly = 0, likewise.
SizeCondition equals_zero(const Poly& poly);

/// a mod b = k.
struct Congruence {
  Poly a, b;
  std::int64_t k = 0;
};
/// What the equation a − b·div(a, b) − k = 0 says.
std::optional<Congruence> congruence(const Poly& equation, const Symbols& symbols);

}  // namespace rulemill::algebra
