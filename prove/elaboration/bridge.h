// The checker's polynomials and products as the prover has them, and back: the two have tables of symbols of their own.
// Names of indices have a sign in front that no size has.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "check/kernel/kernel.h"
#include "prove/normal_form/align.h"
#include "prove/solver/budget.h"

namespace rulemill::prove {

class Bridge {
 public:
  Bridge(check::Atoms& atoms, Budget& budget) : atoms_(atoms), budget_(budget), supply_(symbols_) {}

  Symbols& symbols() { return symbols_; }

  const Poly& there(const Poly& poly);
  Atom there(Atom bound) { return symbols_.index(atoms_.text(Poly(bound))); }
  Guards there(const check::Guards& guards);
  Factor there(const check::Factor& factor);
  Product there(const check::Product& product);
  Poly back(const Poly& poly);

  template <class T>
  void rename(T& part) {
    rename_bound(part, supply_, symbols_);
  }

  /// The step from old bound indices, under fresh names, to others, with its inverse; nothing if none is found.
  std::optional<check::Step> map_step(const Substitution& map, const std::vector<Atom>& old,
                                      const std::vector<Atom>& fresh, const std::vector<Atom>& onto);

 private:
  Poly translated(const Poly& poly);

  check::Atoms& atoms_;
  Budget& budget_;
  Symbols symbols_;
  IndexSupply supply_;
  std::map<Poly, Poly> known_;  // what there() said
};

}  // namespace rulemill::prove
