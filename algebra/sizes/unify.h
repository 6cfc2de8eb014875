// Unification of size polynomials: computes the most general substitution that satisfies a set of equations. Every size
// is at least 1, so sizes common to all terms of an equation cancel, and an equation of one sign is a contradiction.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// A set of equations and the substitution that solves them.
class Unifier {
 public:
  explicit Unifier(Symbols& symbols) : symbols_(&symbols) {}

  /// Adds a = b. False if no sizes satisfy it.
  bool unify(const Poly& a, const Poly& b);
  /// Adds "b divides a": a = q·b with a fresh size q, the same for the same pair. False on a contradiction. Writes the
  /// quotient to `quotient` if given.
  bool add_divisibility(const Poly& b, const Poly& a, Poly* quotient = nullptr);
  /// Divides the equations of the residue by the `positive` polynomials (at least 1 wherever the equations hold, such
  /// as dimensions), eliminates their monomials from each other, and solves again. False on a contradiction.
  bool simplify_residue(std::span<const Poly> positive = {});

  /// Replaces every solved size.
  Poly resolve(const Poly& poly) const;
  Shape resolve(const Shape& shape) const;
  /// Equations poly = 0 that could not be solved for a size.
  const std::vector<Poly>& residue() const { return residue_; }
  /// Solved sizes; the right sides contain none of them.
  const Substitution& solution() const { return solution_; }

 private:
  bool retry_residue();
  /// Returns a simpler equation that follows from two of the residue, or from one and `positive`.
  std::optional<Poly> consequence(const std::vector<Poly>& positive) const;
  Poly with_quotients(Poly poly) const;
  /// Divides by all common positive factors and normalizes the sign.
  Poly without_common_factors(const Poly& poly) const;

  Symbols* symbols_;
  std::size_t steps_ = 0;
  Substitution solution_;
  std::vector<Poly> residue_;
  struct Quotient {
    Poly a, b, q;
  };
  std::vector<Quotient> quotients_;
};

}  // namespace rulemill::algebra
