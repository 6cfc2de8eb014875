// The types of a pattern's values, as texts state them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algebra/exchange/pdl/form_reader.h"
#include "algebra/exchange/pdl/pattern_reader.h"

namespace rulemill::algebra {

/// A reading of a pattern: types, attributes and conditions.
struct PatternTyping {
  std::vector<KnownTensor> types;                              // by PdlPattern::types; without shape: not known
  std::vector<KnownTensor> nodes;                              // of nodes without a type
  std::vector<std::map<std::string, std::string>> attributes;  // by node, of rulemill.fits
  std::vector<std::string> conditions;
  std::vector<Poly> zeros = {};  // differences of sizes that conditions equate
  std::vector<Poly> facts = {};  // differences that they state not to be negative
  bool is_specified = false;     // by rulemill.fits: attributes that are not stated have their defaults
};

/// Returns the typings that a pattern states: one, or one per alternative of rulemill.fits. Throws InputError with the
/// pattern's place.
std::vector<PatternTyping> stated_typings(const PdlPattern& pattern, Symbols& symbols);

/// Returns the typings with ranks from 0 to 4 for each type of a variable that is not stated. The sizes get the names
/// d1, d2, …
std::vector<PatternTyping> with_ranks(const PdlPattern& pattern, const PatternTyping& typing, Symbols& symbols);

/// Reads "dense<1.0> : tensor<2x3xf32>", with {expressions} and $ as in fill_template: the number, and the type.
/// nullopt for a constant of several numbers.
struct ConstantText {
  double number = 0;
  KnownTensor type;
};
std::optional<ConstantText> read_constant(const std::string& text, const std::string& place, Symbols& symbols);

}  // namespace rulemill::algebra
