// The domain of a scalar function over the reals, and the signs of its values, derived from its formula. Undefined are
// a quotient with divisor 0, a logarithm of t ≤ 0, a square root of t < 0, an arc sine or cosine of |t| > 1, and a
// power whose base is negative and exponent not an integer, or whose base is 0 and exponent negative.
#pragma once

#include <set>
#include <span>

#include "algebra/operators/function.h"

namespace rulemill::algebra {

/// The possible signs of a value.
struct Signs {
  bool negative = true, zero = true, positive = true;
  bool natural = false;  // known to be a whole number of at least 0
  bool operator==(const Signs&) const = default;
};
Signs operator+(Signs a, Signs b);
Signs operator*(Signs a, Signs b);
/// Of the product of a value with itself.
Signs square(Signs a);
Signs sign_of(double number);

/// The result of evaluating a formula on signs. Conservative: `defined` may be false for a defined value.
struct FunctionRange {
  bool defined = true;  // for all arguments with the given signs
  Signs signs;
};
FunctionRange range_of(const Function& function, std::span<const Signs> arguments);
/// Whether it is defined for all arguments.
bool is_total(const Function& function);
/// The arguments that its domain depends on. For others 0 may be taken: where f(s, t) is defined, f(0, t) is.
std::set<std::uint32_t> domain_arguments(const Function& function);

}  // namespace rulemill::algebra
