#include "algebra/terms/size_condition.h"

namespace rulemill::algebra {

SizeCondition at_least_zero(const Poly& poly) {
  std::vector<Poly::Term> left;
  std::vector<Poly::Term> right;
  for (const Poly::Term& term : poly.terms()) {
    if (term.coefficient < 0)
      left.push_back({term.monomial, -term.coefficient});
    else
      right.push_back(term);
  }
  SizeCondition condition{Relation::Le, Poly::from_terms(std::move(left)), Poly::from_terms(std::move(right))};
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

std::optional<Congruence> as_congruence(const Poly& equation, const Symbols& symbols) {
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

Truth holds(const SizeCondition& condition, const Symbols& symbols) {
  const Poly difference = condition.right - condition.left;
  const auto decide = [&](bool yes, bool no) { return yes ? Truth::Yes : no ? Truth::No : Truth::Unknown; };
  switch (condition.relation) {
    case Relation::Eq:
      return decide(difference.is_zero(), symbols.is_positive(difference) || symbols.is_positive(-difference));
    case Relation::Ne:
      return decide(symbols.is_positive(difference) || symbols.is_positive(-difference), difference.is_zero());
    case Relation::Lt:
      return decide(symbols.is_positive(difference), symbols.is_nonnegative(-difference));
    case Relation::Le:
      return decide(symbols.is_nonnegative(difference), symbols.is_positive(-difference));
  }
  return Truth::Unknown;
}

SizeCondition substitute(const SizeCondition& condition, const Substitution& sizes, Symbols& symbols) {
  return {condition.relation, symbols.substitute(condition.left, sizes), symbols.substitute(condition.right, sizes)};
}

}  // namespace rulemill::algebra
