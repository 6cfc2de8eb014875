// Properties of a scalar function over the reals, derived from its formula: degree, monotonicity, exponential form. The
// tests are sufficient, not necessary: a formula of another form may have the property, too.
#pragma once

#include <optional>

#include "algebra/operators/function.h"

namespace rulemill::algebra {

/// f(c · t) = c^degree · f(t) for all c > 0, with all arguments scaled, and f is defined at c · t if it is at t.
using Degree = Rational;
std::optional<Degree> degree(const Function& function);
/// 1 if the function is nondecreasing in the argument, whatever the others are, −1 if it is nonincreasing, 0 if neither
/// is shown. An undefined value counts as 0.
int monotonicity(const Function& function, std::size_t argument);
/// Whether f(t) = exp(a · t) for some number a.
bool is_exponential(const Function& function);

}  // namespace rulemill::algebra
