// What a function's formula says of its shape over the reals: of which degree it is, whether it falls anywhere, whether
// it turns sums into products. Sufficient, not necessary: a formula of another form may have the shape, too.
#pragma once

#include <optional>

#include "algebra/language/function.h"

namespace rulemill::algebra {

/// f(c · t) = c^degree · f(t) for all c > 0, of all arguments at once, and f is defined at c · t where it is at t.
using Degree = Rational;
std::optional<Degree> degree(const Function& function);
/// s ≤ t implies f(s) ≤ f(t), where f counts as 0 wherever it is undefined.
bool never_falls(const Function& function);
/// f(t) = exp(a · t) for some number a.
bool is_exponential(const Function& function);

}  // namespace rulemill::algebra
