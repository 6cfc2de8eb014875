// Signs by inspection: is a polynomial non-negative for all sizes of at least 1?
#include <algorithm>
#include <span>
#include <vector>

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

/// Whether no coefficient is negative once every size s is written as 1 + s', s' ≥ 0. That of a product of s' is a sum
/// over the terms that the product divides, each times how often it is in it: negative for divisors of negative terms
/// at most, which alone are gone through, size by size.
class Shifted {
 public:
  explicit Shifted(const Poly& poly) : terms_(poly.terms()) {
    for (std::uint32_t t = 0; t < terms_.size(); ++t) {
      live_.push_back({t, terms_[t].coefficient});
      if (terms_[t].coefficient < 0) sizes_.insert(sizes_.end(), terms_[t].monomial.begin(), terms_[t].monomial.end());
    }
    std::ranges::sort(sizes_);
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  }

  bool has_no_negative_coefficient() { return holds(0, 0); }

 private:
  /// A term that what was chosen so far divides, and its part in the coefficient.
  struct Part {
    std::uint32_t term = 0;
    std::int64_t coefficient = 0;
  };

  /// For all products that have what was chosen of the sizes before `next`: parts from `first` on are what it divides.
  bool holds(std::size_t next, std::size_t first) {
    const std::size_t end = live_.size();
    std::int64_t most = -1;  // of this size in a negative term
    for (std::size_t i = first; i < end; ++i) {
      if (live_[i].coefficient < 0) most = std::max(most, next < sizes_.size() ? power(live_[i], next) : 0);
    }
    if (most < 0) return true;
    if (next == sizes_.size()) {
      std::int64_t sum = 0;
      for (std::size_t i = first; i < end; ++i) sum = checked_add(sum, live_[i].coefficient);
      return sum >= 0;
    }
    for (std::int64_t chosen = most; chosen >= 0; --chosen) {  // a negative term that stands alone shows itself first
      for (std::size_t i = first; i < end; ++i) {
        const std::int64_t all = power(live_[i], next);
        if (all < chosen) continue;
        live_.push_back({live_[i].term, checked_multiply(live_[i].coefficient, ways_to_choose(chosen, all))});
      }
      const bool held = holds(next + 1, end);
      live_.resize(end);
      if (!held) return false;
    }
    return true;
  }

  std::int64_t power(const Part& part, std::size_t size) const {
    const Monomial& monomial = terms_[part.term].monomial;
    return std::count(monomial.begin(), monomial.end(), sizes_[size]);
  }

  static std::int64_t ways_to_choose(std::int64_t some, std::int64_t of) {
    std::int64_t ways = 1;
    for (std::int64_t i = 1; i <= some; ++i) ways = ways * (of - some + i) / i;
    return ways;
  }

  std::span<const Poly::Term> terms_;
  std::vector<Atom> sizes_;
  std::vector<Part> live_;  // a stack
};

}  // namespace

bool Symbols::nonnegative(const Poly& poly) const { return nonnegative(poly, 4); }

bool Symbols::nonnegative(const Poly& poly, int depth) const {
  if (const std::optional<std::int64_t> constant = poly.constant()) return *constant >= 0;
  std::optional<Atom> compound;
  bool negative = false;
  for (const Poly::Term& term : poly.terms()) {
    negative |= term.coefficient < 0;
    for (const Atom atom : term.monomial) {
      const Kind k = kind(atom);
      if (k == Kind::Index) return false;
      if (k != Kind::Size && !compound) compound = atom;
    }
  }
  if (compound) {
    if (depth == 0) return false;
    if (const auto bound = below_differences(*this, poly)) return nonnegative(*bound, depth - 1);
    return nonnegative_around(poly, *compound, depth - 1);
  }
  if (!negative) return true;
  return Shifted(poly).has_no_negative_coefficient();
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
