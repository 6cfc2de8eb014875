#include "algebra/terms/size_condition.h"

namespace rulemill::algebra {

/// poly ≥ 0 as a relation between sums without negative terms.
SizeCondition at_least_zero(const Poly& poly) {
  std::vector<Poly::Term> left;
  std::vector<Poly::Term> right;
  for (const Poly::Term& term : poly.terms()) {
    if (term.coefficient < 0) {
      left.push_back({term.monomial, -term.coefficient});
    } else {
      right.push_back(term);
    }
  }
  SizeCondition condition{Relation::Le, Poly::of_terms(std::move(left)), Poly::of_terms(std::move(right))};
  if (condition.right.constant_term() == 0 && condition.left.constant_term() == 1) {
    condition.relation = Relation::Lt;
    condition.left -= 1;
  }
  return condition;
}

SizeCondition equals_zero(const Poly& poly) {
  SizeCondition condition = at_least_zero(poly);
  if (condition.relation == Relation::Lt) condition.left += 1;
  condition.relation = Relation::Eq;
  return condition;
}

std::optional<Congruence> congruence(const Poly& equation, const Symbols& symbols) {
  for (const Poly& side : {equation, -equation}) {
    for (const Atom atom : symbols.atoms(side, true)) {
      if (symbols.kind(atom) != Symbols::Kind::FloorDiv) continue;
      const Poly rest = side + symbols.right(atom) * Poly(atom);
      if (symbols.contains(rest, atom)) continue;
      const std::optional<std::int64_t> k = (symbols.left(atom) - rest).constant();
      if (k && *k >= 0) return Congruence{symbols.left(atom), symbols.right(atom), *k};
    }
  }
  return std::nullopt;
}

}  // namespace rulemill::algebra
