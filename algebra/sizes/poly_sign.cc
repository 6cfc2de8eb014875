// Signs by inspection: shows that a polynomial is non-negative for all sizes of at least 1.
#include <algorithm>
#include <span>
#include <vector>

#include "algebra/sizes/checked.h"
#include "algebra/sizes/poly.h"

namespace rulemill::algebra {
namespace {

/// floor(a / r) − floor(b / r) ≥ floor((a − b) / r)
/// Replaces the first such difference by that bound. nullopt if there is none, or if a − b is neither a number nor
/// shown to be at least 0.
std::optional<Poly> bound_floor_differences(const Symbols& symbols, const Poly& poly) {
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
      if (!number && !symbols.is_nonnegative(difference)) continue;
      const Poly bound(number ? floor_quotient(*number, *divisor) : 0);
      return poly - Poly::from_terms({first, second}) + Poly(first.coefficient) * bound;
    }
  }
  return std::nullopt;
}

/// The coefficients of a polynomial after substituting s = 1 + s', s' ≥ 0, for every size s. The coefficient of a
/// product of s' is a sum over the terms that the product divides, weighted by binomial coefficients. It can be
/// negative only if the product divides a negative term, so only those divisors are enumerated, size by size.
class ShiftedCoefficients {
 public:
  explicit ShiftedCoefficients(const Poly& poly) : terms_(poly.terms()) {
    for (std::uint32_t t = 0; t < terms_.size(); ++t) {
      contributions_.push_back({t, terms_[t].coefficient});
      if (terms_[t].coefficient < 0) sizes_.insert(sizes_.end(), terms_[t].monomial.begin(), terms_[t].monomial.end());
    }
    std::ranges::sort(sizes_);
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  }

  bool are_all_nonnegative() { return check_from_size(0, 0); }

 private:
  /// A term that the chosen powers divide, and its contribution to the coefficient.
  struct Contribution {
    std::uint32_t term = 0;
    std::int64_t coefficient = 0;
  };

  /// Checks all products that extend the powers chosen for the sizes before `next`. Contributions from `first` on are
  /// of the terms that the chosen powers divide.
  bool check_from_size(std::size_t next, std::size_t first) {
    const std::size_t end = contributions_.size();
    std::int64_t max_power = -1;  // of this size in a negative term
    for (std::size_t i = first; i < end; ++i) {
      if (contributions_[i].coefficient < 0)
        max_power = std::max(max_power, next < sizes_.size() ? power(contributions_[i], next) : 0);
    }
    if (max_power < 0) return true;
    if (next == sizes_.size()) {
      std::int64_t sum = 0;
      for (std::size_t i = first; i < end; ++i) sum = checked_add(sum, contributions_[i].coefficient);
      return sum >= 0;
    }
    for (std::int64_t chosen = max_power; chosen >= 0; --chosen) {  // highest first: a lone negative term fails at once
      for (std::size_t i = first; i < end; ++i) {
        const std::int64_t power_in_term = power(contributions_[i], next);
        if (power_in_term < chosen) continue;
        contributions_.push_back(
            {contributions_[i].term, checked_multiply(contributions_[i].coefficient, binomial(power_in_term, chosen))});
      }
      const bool held = check_from_size(next + 1, end);
      contributions_.resize(end);
      if (!held) return false;
    }
    return true;
  }

  std::int64_t power(const Contribution& contribution, std::size_t size) const {
    const Monomial& monomial = terms_[contribution.term].monomial;
    return std::count(monomial.begin(), monomial.end(), sizes_[size]);
  }

  /// n choose k.
  static std::int64_t binomial(std::int64_t n, std::int64_t k) {
    std::int64_t ways = 1;
    for (std::int64_t i = 1; i <= k; ++i) ways = ways * (n - k + i) / i;
    return ways;
  }

  std::span<const Poly::Term> terms_;
  std::vector<Atom> sizes_;
  std::vector<Contribution> contributions_;  // a stack
};

}  // namespace

bool Symbols::is_nonnegative(const Poly& poly) const { return is_nonnegative(poly, 4); }

bool Symbols::is_nonnegative(const Poly& poly, int depth) const {
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
    if (const auto bound = bound_floor_differences(*this, poly)) return is_nonnegative(*bound, depth - 1);
    return is_nonnegative_by_bounds(poly, *compound, depth - 1);
  }
  if (!negative) return true;
  return ShiftedCoefficients(poly).are_all_nonnegative();
}

/// poly = A·q + B with a compound q. If A ≥ 0, q is replaced by a lower bound; if A ≤ 0, by an upper bound.
bool Symbols::is_nonnegative_by_bounds(const Poly& poly, Atom compound, int depth) const {
  const std::vector<Poly> coefficients = poly.coefficients_in(compound);
  if (coefficients.size() != 2) return false;
  const Poly& factor = coefficients[1];
  const Poly& rest = coefficients[0];
  const Poly& l = left(compound);
  const Poly& r = right(compound);
  const bool is_increasing = is_nonnegative(factor, depth);
  if (!is_increasing && !is_nonnegative(-factor, depth)) return false;
  const auto is_nonnegative_with = [&](const Poly& bound) { return is_nonnegative(factor * bound + rest, depth); };
  switch (kind(compound)) {
    case Kind::FloorDiv: {
      if (!is_nonnegative(r - 1, depth)) return false;
      // r·floor(l / r) lies in [l − r + 1, l].
      if (is_nonnegative(factor * (is_increasing ? l - r + 1 : l) + rest * r, depth)) return true;
      if (!is_increasing) return is_nonnegative(l, depth) && is_nonnegative_with(l);
      // A sum of sizes is smallest where all of them are 1.
      const bool has_only_sizes = atoms(l, true) == atoms(l);
      const std::int64_t min_value = has_only_sizes ? evaluate(l, [](Atom) { return 1; }) : 0;
      if (min_value < 0 || !is_nonnegative(l - min_value, depth)) return false;
      return is_nonnegative_with(r.constant() ? min_value / *r.constant() : 0);
    }
    case Kind::Min:
      if (!is_increasing) return is_nonnegative_with(l) || is_nonnegative_with(r);
      if (is_nonnegative(l - 1, depth) && is_nonnegative(r - 1, depth) && is_nonnegative_with(1)) return true;
      return is_nonnegative(l, depth) && is_nonnegative(r, depth) && is_nonnegative_with(0);
    case Kind::Max:
      if (is_increasing) return is_nonnegative_with(l) || is_nonnegative_with(r);
      return is_nonnegative(l, depth) && is_nonnegative(r, depth) && is_nonnegative_with(l + r);
    case Kind::Size:
    case Kind::Index:
      return false;
  }
  return false;
}

}  // namespace rulemill::algebra
