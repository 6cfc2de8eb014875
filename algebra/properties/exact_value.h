// Exact values of scalar functions at numbers.
#pragma once

#include <optional>
#include <span>

#include "algebra/operators/function.h"

namespace rulemill::algebra {

/// f(arguments) if exact rational arithmetic yields it; of exp, sqrt and similar functions only the values at 0 and 1
/// are known. Returns nullopt otherwise, also if f is undefined. Throws Overflow beyond 64 bits.
std::optional<Rational> evaluate_exactly(const Function& function, std::span<const Rational> arguments);

}  // namespace rulemill::algebra
