// Signs by inspection: is a polynomial non-negative for all sizes of at least 1?
#include <algorithm>

#include "algebra/sizes/checked.h"
#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

namespace {

/// floor(a / r) − floor(b / r) ≥ floor((a − b) / r): poly with the first such difference replaced by that bound.
/// Nothing where there is none, or a − b is neither a number nor shown to be at least 0.
std::optional<Poly> below_differences(const Symbols& symbols, const Poly& poly) {
  const auto is_floor = [&](const Poly::Term& term) {
    return term.monomial.size() == 1 && symbols.kind(term.monomial[0]) == Symbols::Kind::FloorDiv;
  };
  for (const Poly::Term& first : poly.terms()) {
    if (!is_floor(first) || first.coefficient < 0) continue;
    for (const Poly::Term& second : poly.terms()) {
      if (!is_floor(second) || second.coefficient != -first.coefficient) continue;
      const Atom a = first.monomial[0], b = second.monomial[0];
      const auto divisor = symbols.right(a).constant();
      if (symbols.right(a) != symbols.right(b) || !divisor || *divisor < 1) continue;
      const Poly difference = symbols.left(a) - symbols.left(b);
      const auto number = difference.constant();
      if (!number && !symbols.nonnegative(difference)) continue;
      const Poly bound(number ? floor_quotient(*number, *divisor) : 0);
      return poly - Poly::of_terms({first, second}) + Poly(first.coefficient) * bound;
    }
  }
  return std::nullopt;
}

/// Whether a negative term stands alone: a monomial that no positive term's is a multiple of keeps its sign when every
/// size s is written as 1 + s'.
bool keeps_a_negative_term(const Poly& poly) {
  const auto outweighed = [&](const Poly::Term& negative) {
    return std::ranges::any_of(poly.terms(), [&](const Poly::Term& term) {
      return term.coefficient > 0 && term.monomial.size() > negative.monomial.size() &&
             term.monomial.divided_by(negative.monomial);
    });
  };
  return std::ranges::any_of(poly.terms(),
                             [&](const Poly::Term& term) { return term.coefficient < 0 && !outweighed(term); });
}

}  // namespace

bool Symbols::nonnegative(const Poly& poly) const { return nonnegative(poly, 4); }

bool Symbols::nonnegative(const Poly& poly, int depth) const {
  if (const std::optional<std::int64_t> constant = poly.constant()) return *constant >= 0;
  std::optional<Atom> compound;
  std::vector<Atom> sizes;
  bool negative = false;
  for (const Poly::Term& term : poly.terms()) {
    negative |= term.coefficient < 0;
    for (const Atom atom : term.monomial) {
      const Kind k = kind(atom);
      if (k == Kind::Index) return false;
      if (k == Kind::Size) {
        sizes.push_back(atom);
      } else if (!compound) {
        compound = atom;
      }
    }
  }
  if (compound) {
    if (depth == 0) return false;
    if (const auto bound = below_differences(*this, poly)) return nonnegative(*bound, depth - 1);
    return nonnegative_around(poly, *compound, depth - 1);
  }
  if (!negative) return true;
  if (keeps_a_negative_term(poly)) return false;
  // With every size s written as 1 + s' and s' ≥ 0, non-negative coefficients suffice. s itself stands for s'.
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  Poly shifted = poly;
  for (const Atom size : sizes) {
    const std::vector<Poly> powers = shifted.powers_of(size);
    Poly horner;
    for (std::size_t i = powers.size(); i-- > 0;) horner = horner * (Poly(size) + 1) + powers[i];
    shifted = std::move(horner);
  }
  return std::all_of(shifted.terms().begin(), shifted.terms().end(),
                     [](const Poly::Term& term) { return term.coefficient >= 0; });
}

/// poly = A·q + B with a compound q. If A ≥ 0, a lower bound of q in its place will do; if A ≤ 0, an upper bound.
bool Symbols::nonnegative_around(const Poly& poly, Atom compound, int depth) const {
  const std::vector<Poly> powers = poly.powers_of(compound);
  if (powers.size() != 2) return false;
  const Poly& factor = powers[1];
  const Poly& rest = powers[0];
  const Poly& l = left(compound);
  const Poly& r = right(compound);
  const bool rising = nonnegative(factor, depth);
  if (!rising && !nonnegative(-factor, depth)) return false;
  const auto with = [&](const Poly& bound) { return nonnegative(factor * bound + rest, depth); };
  switch (kind(compound)) {
    case Kind::FloorDiv: {
      if (!nonnegative(r - 1, depth)) return false;
      // r·floor(l / r) lies in [l − r + 1, l].
      if (nonnegative(factor * (rising ? l - r + 1 : l) + rest * r, depth)) return true;
      if (!rising) return nonnegative(l, depth) && with(l);
      // A sum of sizes is least where all of them are 1.
      const bool plain = atoms(l, true) == atoms(l);
      const std::int64_t least = plain ? evaluate(l, [](Atom) { return 1; }) : 0;
      if (least < 0 || !nonnegative(l - least, depth)) return false;
      return with(r.constant() ? least / *r.constant() : 0);
    }
    case Kind::Min:
      if (!rising) return with(l) || with(r);
      if (nonnegative(l - 1, depth) && nonnegative(r - 1, depth) && with(1)) return true;
      return nonnegative(l, depth) && nonnegative(r, depth) && with(0);
    case Kind::Max:
      if (rising) return with(l) || with(r);
      return nonnegative(l, depth) && nonnegative(r, depth) && with(l + r);
    case Kind::Size:
    case Kind::Index:
      return false;
  }
  return false;
}

}  // namespace rulemill::algebra
