// Sizes as Python.
#pragma once

#include <string>

#include "algebra/sizes/poly.h"

namespace rulemill::algebra {

/// Returns the polynomial as a Python expression, with an underscore after names that Python or the exported module
/// uses. Divisions are div(a, b).
std::string python_expression(const Poly& poly, const Symbols& symbols);

}  // namespace rulemill::algebra
