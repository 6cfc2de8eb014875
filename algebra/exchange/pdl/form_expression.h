// Expressions of the StableHLO table: numbers and lists of numbers over the sizes of a node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// A number, or a list of numbers. A list of pairs is printed in pairs.
struct FormValue {
  bool is_list = false, in_pairs = false;
  std::vector<Poly> items;
};

/// The names of an expression.
using FormNames = std::map<std::string, FormValue>;

/// Evaluates an expression: numbers, names, [a, b], + - * // (of lists by element), and the functions rank(list),
/// iota(n), uniform(list, number), set(list, axis, number), kept(spread), which returns the dimensions of the result
/// that an input has, and pairs(a, b). Throws InputError with `place`.
FormValue evaluate_form(const std::string& expression, const FormNames& names, Symbols& symbols,
                        const std::string& place);

/// Replaces each {expression} of a text by its value: a number as such, another one as {expression of sizes} in
/// Python's syntax, the items of a list with commas.
std::string fill_template(const std::string& text, const FormNames& names, Symbols& symbols, const std::string& place);

}  // namespace rulemill::algebra
