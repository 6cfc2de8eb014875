// Sizes and names as Python.
#pragma once

#include <string>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// Returns the name if Python and the exported module do not use it; otherwise with an underscore.
std::string python_name(const std::string& name);

/// Returns a string literal.
std::string python_string(const std::string& text);

/// Returns the polynomial as a Python expression over sizes, each with `prefix` in front. Divisions are div(a, b).
std::string python_expression(const Poly& poly, const std::string& prefix, const Symbols& symbols);

}  // namespace rulemill::algebra
