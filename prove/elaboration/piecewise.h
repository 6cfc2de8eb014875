// Which functions are evaluated by cases of signs.
#pragma once

#include "algebra/operators/function.h"

namespace rulemill::prove {

/// True if the function's formula consists of numbers, arguments, + − ·, quotients by numbers, max, min, abs and
/// comparisons.
bool is_piecewise(const algebra::Function& function);
/// True for these and for functions with floor, powers and other quotients, except 1/t.
bool is_evaluated_by_cases(const algebra::Function& function);
/// True for 1/t.
bool is_reciprocal(const algebra::Function& function);

}  // namespace rulemill::prove
