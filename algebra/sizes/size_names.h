// Readable names for the undeclared sizes of a rule: the name of the first slot that the size fills, else its own
// prefix, made unique by a number. Equal rules get equal names, independently of the order of creation of their sizes.
#pragma once

#include <string>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

class SizeNamer {
 public:
  /// Declared sizes keep their names.
  SizeNamer(Symbols& symbols, const std::vector<Atom>& declared) : symbols_(symbols), declared_(declared) {}

  /// Adds the sizes of the polynomial. Sizes are named in the order of addition.
  void add(const Poly& poly);
  /// Adds the value of a slot. If it is a single size without a preferred name, the slot's name becomes that.
  void add(const Poly& poly, const std::string& slot);

  /// Maps every added size that is not declared to the size with its new name.
  Substitution substitution() const;

 private:
  Symbols& symbols_;
  const std::vector<Atom>& declared_;
  std::vector<Atom> order_;
  std::unordered_map<Atom, std::string> preferred_names_;
};

}  // namespace rulemill::algebra
