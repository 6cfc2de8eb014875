// Conversion between polynomials and readable conditions: p ≥ 0 without negative terms, a mod b = k. Deciding them.
#pragma once

#include <optional>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// poly ≥ 0 as a relation between sums without negative terms.
SizeCondition at_least_zero(const Poly& poly);
/// poly = 0 as a relation between sums without negative terms.
SizeCondition equals_zero(const Poly& poly);

/// a mod b = k.
struct Congruence {
  Poly a, b;
  std::int64_t k = 0;
};
/// Recognizes an equation a − b·div(a, b) − k = 0.
std::optional<Congruence> as_congruence(const Poly& equation, const Symbols& symbols);

/// Whether a condition holds for all sizes: yes, no, or not known.
enum class Truth : std::uint8_t { No, Yes, Unknown };
Truth holds(const SizeCondition& condition, const Symbols& symbols);

/// Replaces the sizes of a condition.
SizeCondition substitute(const SizeCondition& condition, const Substitution& sizes, Symbols& symbols);

}  // namespace rulemill::algebra
