// What the types of a rule require of sizes that its text leaves free: equations between named sizes, and relations
// without which both sides have types, but their outputs have other shapes (docs/semantics.md).
#pragma once

#include <set>
#include <span>
#include <vector>

#include "algebra/sizes/unify.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Compares the equations of finished types with those of an earlier stage of their inference. Sizes that are not given
/// as free, such as quotients and what the text leaves to inference, have any value that fits.
class NarrowingSearch {
 public:
  /// `positive` is at least 1 at the last stage, `types`.
  NarrowingSearch(Symbols& symbols, std::span<const Poly> positive, const Unifier& types)
      : symbols_(symbols), positive_(positive), types_(types) {}

  /// Adds the equations between free sizes that do not follow from the earlier stage and from those found.
  void add_equations(const Unifier& earlier, const std::set<Atom>& free);
  /// Adds what the earlier stage does not have: divisibilities, such as that of h = 2·q, and that n = p + q is at
  /// least 2.
  void add_solutions(const Unifier& earlier, const std::set<Atom>& free);
  /// Adds the bounds (at least 0) of the free sizes that the earlier stage does not have.
  void add_bounds(const Unifier& earlier, const std::set<Atom>& free, std::span<const Poly> earlier_bounds,
                  std::span<const Poly> bounds);

  const std::vector<SizeCondition>& conditions() const { return conditions_; }

 private:
  /// Equations in which `left` is a free size, or `right` is 0. One is solved if it gives a value to another size that
  /// no other equation has.
  struct Equations {
    std::vector<SizeCondition> between_free;
    std::vector<std::pair<SizeCondition, Atom>> solved;  // for this size
  };
  Equations equations(const std::set<Atom>& free) const;
  Unifier with_conditions(Unifier stage) const;
  void add_positive(Poly value, const std::set<Atom>& free);

  Symbols& symbols_;
  std::span<const Poly> positive_;
  const Unifier& types_;
  std::vector<SizeCondition> conditions_;
};

}  // namespace rulemill::algebra
