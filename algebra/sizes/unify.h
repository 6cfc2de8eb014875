// Unification of size polynomials: equations go in, a substitution comes out that is as general as can be. Every size
// is at least 1, so sizes common to all terms of an equation cancel and an equation of one sign is a clash.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

class Unifier {
 public:
  explicit Unifier(Symbols& symbols) : symbols_(&symbols) {}

  /// Adds a = b. False if no sizes can make them equal.
  bool unify(const Poly& a, const Poly& b);
  /// Adds "b divides a": a = q·b with a fresh size q, the same for the same pair. False on a clash. The quotient is
  /// written to `quotient` if given.
  bool divides(const Poly& b, const Poly& a, Poly* quotient = nullptr);
  /// Divides left-over equations by what is `positive` (at least 1 wherever they hold: a dimension, say), eliminates
  /// their monomials from each other, and tries again. False on a clash.
  bool close(std::span<const Poly> positive = {});

  /// The polynomial with every solved size replaced.
  Poly resolve(const Poly& poly) const;
  Shape resolve(const Shape& shape) const;
  /// Equations poly = 0 that no size could be solved from.
  const std::vector<Poly>& residue() const { return residue_; }
  /// Solved sizes; the right sides contain none of them.
  const Substitution& solution() const { return solution_; }

 private:
  bool retry_residue();
  /// A simpler equation that follows from two, or from one and `positive`.
  std::optional<Poly> consequence(const std::vector<Poly>& positive) const;
  Poly with_quotients(Poly poly) const;
  /// Divides by common positive factors, sign included.
  Poly cancelled(const Poly& poly) const;

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
