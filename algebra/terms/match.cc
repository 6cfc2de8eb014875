// Solving for a rule's sizes from given ones, and deciding conditions on sizes.
#include <algorithm>

#include "algebra/terms/typing.h"

namespace rulemill::algebra {

namespace {

/// One equation pattern = actual, or between two patterns (then `actual` is zero).
struct Equation {
  Poly pattern;
  Poly actual;
  bool done = false;
};

/// The size that is not bound yet, if there is exactly one; `count` says how many there are.
std::optional<Atom> only_unbound(const Poly& poly, const Substitution& bound, const Symbols& symbols,
                                 std::size_t& count) {
  std::optional<Atom> unbound;
  count = 0;
  for (const Atom atom : symbols.atoms(poly)) {
    if (bound.contains(atom)) continue;
    unbound = atom;
    ++count;
  }
  return count == 1 ? unbound : std::nullopt;
}

/// a / b as a polynomial, if b divides a.
std::optional<Poly> exact_quotient(const Poly& a, const Poly& b, Symbols& symbols) {
  if (b.is_zero()) return std::nullopt;
  const Poly quotient = symbols.floor_div(a, b);
  if (quotient * b != a) return std::nullopt;
  return quotient;
}

}  // namespace

std::optional<Substitution> match_sizes(std::span<const std::pair<Poly, Poly>> pattern_and_actual, Symbols& symbols,
                                        std::span<const SizeCondition> condition) {
  Substitution bound;
  std::vector<Equation> equations;
  equations.reserve(pattern_and_actual.size() + condition.size());
  for (const auto& [pattern, actual] : pattern_and_actual) {
    const std::optional<Atom> size = pattern.atom();
    if (!size || symbols.kind(*size) != Symbols::Kind::Size) {
      equations.push_back({pattern, actual});
    } else if (const auto known = bound.find(*size); known != bound.end()) {
      if (known->second != actual) return std::nullopt;
    } else {
      if (actual.constant() && *actual.constant() < 1) return std::nullopt;
      bound.emplace(*size, actual);  // a dimension of a typed tensor: at least 1
    }
  }
  for (const SizeCondition& c : condition) {
    if (c.relation == Relation::Eq) equations.push_back({c.left - c.right, 0});
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (Equation& equation : equations) {
      if (equation.done) continue;
      std::size_t unbound = 0;
      const std::optional<Atom> size = only_unbound(equation.pattern, bound, symbols, unbound);
      if (unbound > 1) continue;
      if (unbound == 0) {
        if (symbols.substitute(equation.pattern, bound) != equation.actual) return std::nullopt;
        equation.done = true;
        continue;
      }
      // pattern = factor · size + rest
      const std::vector<Poly> powers = equation.pattern.powers_of(*size);
      if (powers.size() != 2 || symbols.contains(powers[0], *size) || symbols.contains(powers[1], *size)) {
        continue;
      }
      const Poly factor = symbols.substitute(powers[1], bound);
      const Poly rest = symbols.substitute(powers[0], bound);
      std::optional<Poly> value = exact_quotient(equation.actual - rest, factor, symbols);
      if (!value || !symbols.positive(*value)) return std::nullopt;
      bound.emplace(*size, std::move(*value));
      equation.done = progress = true;
    }
  }
  const bool solved = std::all_of(equations.begin(), equations.end(), [](const Equation& e) { return e.done; });
  if (!solved) return std::nullopt;
  return bound;
}

Truth holds(const SizeCondition& condition, const Symbols& symbols) {
  const Poly difference = condition.right - condition.left;
  const auto decide = [&](bool yes, bool no) { return yes ? Truth::Yes : no ? Truth::No : Truth::Unknown; };
  switch (condition.relation) {
    case Relation::Eq:
      return decide(difference.is_zero(), symbols.positive(difference) || symbols.positive(-difference));
    case Relation::Ne:
      return decide(symbols.positive(difference) || symbols.positive(-difference), difference.is_zero());
    case Relation::Lt:
      return decide(symbols.positive(difference), symbols.nonnegative(-difference));
    case Relation::Le:
      return decide(symbols.nonnegative(difference), symbols.positive(-difference));
  }
  return Truth::Unknown;
}

SizeCondition substitute(const SizeCondition& condition, const Substitution& sizes, Symbols& symbols) {
  return {condition.relation, symbols.substitute(condition.left, sizes), symbols.substitute(condition.right, sizes)};
}

}  // namespace rulemill::algebra
