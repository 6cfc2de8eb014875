// Readable names for the sizes of a rule that nobody declared: that of the slot that a size is, else its own prefix,
// made unique by a number. Equal rules get equal names, in whatever order their sizes came to be.
#pragma once

#include <string>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

class SizeNames {
 public:
  /// Declared sizes keep their names.
  SizeNames(Symbols& symbols, const std::vector<Atom>& declared) : symbols_(symbols), declared_(declared) {}

  /// Sizes are named in the order in which they are met.
  void meet(const Poly& poly);
  /// The polynomial is a slot of this name; if it is a size alone, that is the name it wants, unless it has one.
  void meet(const Poly& poly, const std::string& slot);

  /// Every size met that is not declared, and the size of the name that it gets.
  Substitution names() const;

 private:
  Symbols& symbols_;
  const std::vector<Atom>& declared_;
  std::vector<Atom> order_;
  std::unordered_map<Atom, std::string> wanted_;
};

}  // namespace rulemill::algebra
