// Properties of a scalar function over the reals, derived from its formula: degree, monotonicity, exponential form. The
// tests are sufficient, not necessary: a formula of another form may have the property, too.
#pragma once

#include <optional>

#include "algebra/operators/function.h"

namespace rulemill::algebra {

/// f(c · t) = c^degree · f(t) for all c > 0, with all arguments scaled, and f is defined at c · t if it is at t.
using Degree = Rational;
std::optional<Degree> degree(const Function& function);
/// Whether s ≤ t implies f(s) ≤ f(t), where an undefined f(t) counts as 0.
bool is_nondecreasing(const Function& function);
/// Whether f(t) = exp(a · t) for some number a.
bool is_exponential(const Function& function);

}  // namespace rulemill::algebra
