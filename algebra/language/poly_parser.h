// Reads polynomials over sizes from text, the inverse of Symbols::to_string:
//   sum of products of numbers, sizes, (…), div(a, b), mod(a, b), min(a, b), max(a, b)
#pragma once

#include <string>
#include <string_view>

#include "algebra/language/lexer.h"
#include "algebra/operators/expression.h"
#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// Parses the whole text. Throws InputError with origin:line:column.
Poly parse_poly(std::string_view text, const std::string& origin, Symbols& symbols);
/// Parses the longest prefix that is a polynomial and leaves the cursor behind it.
Poly parse_poly(TokenCursor& cursor, Symbols& symbols);

/// A sign of comparison. > and >= are < and <= with exchanged sides.
struct ComparisonSign {
  std::string_view text;
  Relation relation;
  bool swapped = false;
};
const ComparisonSign& parse_comparison_sign(TokenCursor& cursor);

}  // namespace rulemill::algebra
