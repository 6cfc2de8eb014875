#include "algebra/terms/match_sizes.h"

#include <algorithm>

namespace rulemill::algebra {
namespace {

/// One equation pattern = actual, or between two patterns (then `actual` is zero).
struct Equation {
  Poly pattern;
  Poly actual;
  bool done = false;
};

/// Returns the unbound size if there is exactly one; `count` is the number of unbound sizes.
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

/// Returns a / b if b divides a.
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
      const std::vector<Poly> powers = equation.pattern.coefficients_in(*size);
      if (powers.size() != 2 || symbols.contains(powers[0], *size) || symbols.contains(powers[1], *size)) continue;
      const Poly factor = symbols.substitute(powers[1], bound);
      const Poly rest = symbols.substitute(powers[0], bound);
      std::optional<Poly> value = exact_quotient(equation.actual - rest, factor, symbols);
      if (!value || !symbols.is_positive(*value)) return std::nullopt;
      bound.emplace(*size, std::move(*value));
      equation.done = progress = true;
    }
  }
  const bool solved = std::all_of(equations.begin(), equations.end(), [](const Equation& e) { return e.done; });
  if (!solved) return std::nullopt;
  return bound;
}

}  // namespace rulemill::algebra
