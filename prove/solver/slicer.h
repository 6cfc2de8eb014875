// Divides obligations: guards that share no size and no index, directly or through other guards, say nothing about
// each other. A part has fewer facts to search, and more obligations have it.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "check/kernel/obligation.h"

namespace rulemill::prove {

class Slicer {
 public:
  explicit Slicer(const check::Atoms& atoms) : atoms_(atoms) {}

  /// Returns obligations of which each implies the given one: one with the goal and the guards that concern
  /// it; without a goal, one for each set of guards that may contradict each other.
  std::vector<check::Obligation> parts(const check::Obligation& obligation);
  /// Returns the guards that concern the polynomial.
  check::Guards around(const check::Guards& guards, const check::Poly& poly);

 private:
  using Set = std::set<check::Atom>;
  struct PolyHash {
    std::size_t operator()(const check::Poly& poly) const { return poly.hash(); }
  };

  /// Moves the guards that concern the atoms from `guards` to the result, in their order.
  check::Guards take(check::Guards& guards, Set reached);
  /// The sizes and indices in the polynomial, at any depth.
  const Set& names(const check::Poly& poly);

  const check::Atoms& atoms_;
  std::unordered_map<check::Poly, Set, PolyHash> names_;
};

}  // namespace rulemill::prove
