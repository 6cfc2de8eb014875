// Translates polynomials and products between the checker and the prover, which have separate intern tables of symbols.
// Names of indices start with a character (@ or #) that no name of a size has.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "check/kernel/kernel.h"
#include "prove/normal_form/align.h"
#include "prove/solver/budget.h"

namespace rulemill::prove {

/// A translator between one statement of the checker and symbols of its own.
class SymbolTranslator {
 public:
  SymbolTranslator(check::Atoms& atoms, Budget& budget) : atoms_(atoms), budget_(budget), supply_(symbols_) {}

  Symbols& symbols() { return symbols_; }

  const Poly& to_prover(const Poly& poly);
  Atom to_prover(Atom bound) { return symbols_.index(atoms_.text(Poly(bound))); }
  Guards to_prover(const check::Guards& guards);
  Factor to_prover(const check::Factor& factor);
  Product to_prover(const check::Product& product);
  Poly to_checker(const Poly& poly);

  template <class T>
  void rename(T& part) {
    rename_bound(part, supply_, symbols_);
  }

  /// Returns the step Map from the indices `old`, which `map` has under the names `fresh`, to `onto`, with its inverse;
  /// nothing if there is no inverse.
  std::optional<check::Step> map_step(const Substitution& map, const std::vector<Atom>& old,
                                      const std::vector<Atom>& fresh, const std::vector<Atom>& onto);

 private:
  Poly translate(const Poly& poly);

  check::Atoms& atoms_;
  Budget& budget_;
  Symbols symbols_;
  IndexSupply supply_;
  std::map<Poly, Poly> translations_;  // memoizes to_prover()
};

}  // namespace rulemill::prove
