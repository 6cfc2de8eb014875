// Where a scalar function is defined over the reals, and which signs its values have: read off its formula, so that
// nobody declares it. A quotient is undefined where its divisor is 0, a logarithm up to 0, a square root below 0, an
// arc sine or cosine beyond 1, a power where the base is below 0 and the exponent not whole, or 0 and the exponent
// below 0.
#pragma once

#include <span>

#include "algebra/language/function.h"

namespace rulemill::algebra {

/// The signs that a value may have.
struct Signs {
  bool negative = true, zero = true, positive = true;
  bool operator==(const Signs&) const = default;
};
Signs operator+(Signs a, Signs b);
Signs operator*(Signs a, Signs b);
Signs sign_of(double number);

/// What the formula says of values: no more than signs are followed, so `defined` may be false of what is defined.
struct FunctionRange {
  bool defined = true;  // for all arguments of these signs
  Signs signs;
};
FunctionRange range_of(const Function& function, std::span<const Signs> arguments);
/// Whether it is defined for all arguments.
bool is_total(const Function& function);

/// The function's value as evaluate() has it, but NaN where it is undefined, an argument included. `doubtful` is set if
/// rounding may have decided that, and where the value is too large for a double.
double evaluate_strictly(const Function& function, std::span<const double> arguments, bool& doubtful);

}  // namespace rulemill::algebra
