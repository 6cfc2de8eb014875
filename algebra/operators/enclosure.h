// Bounds of a real number: arithmetic on doubles whose results are rounded outwards, so that the number lies between
// them whatever rounding does. Sums, products, quotients and roots of doubles that are doubles stay exact.
#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "algebra/operators/function.h"

namespace rulemill::algebra {

/// A number that is known to be at least `low` and at most `high`, or an undefined value: both are NaN. A bound may be
/// infinite.
struct Enclosure {
  double low = 0, high = 0;

  Enclosure() = default;
  Enclosure(double number) : low(number), high(number) {}  // NOLINT(google-explicit-constructor): it is that number
  Enclosure(double at_least, double at_most) : low(at_least), high(at_most) {}
  explicit Enclosure(Rational number);

  static Enclosure undefined() { return std::numeric_limits<double>::quiet_NaN(); }
  /// Any number.
  static Enclosure any() { return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()}; }

  bool is_undefined() const { return std::isnan(low); }
  bool is_exact() const { return low == high; }
  bool contains(double number) const { return low <= number && number <= high; }
  /// A finite number between the bounds; NaN if it is undefined.
  double middle() const;

  Enclosure& operator+=(Enclosure other);
  Enclosure& operator*=(Enclosure other);
};

Enclosure operator-(Enclosure a);
Enclosure operator+(Enclosure a, Enclosure b);
Enclosure operator*(Enclosure a, Enclosure b);
/// The larger of two numbers; undefined if one of them is.
Enclosure larger(Enclosure a, Enclosure b);
/// Whether all numbers within the bounds of `a` differ from all within those of `b`, and the bounds are finite.
bool certainly_differ(Enclosure a, Enclosure b);

/// Applies an instruction other than Argument and Number to defined operands: `b` is the last, `a` the first of two.
/// Returns undefined() where the function is (function_domain.h), and any() with `doubtful` set where it may be.
Enclosure apply(Function::Op op, Enclosure a, Enclosure b, bool& doubtful);

/// The bounds of an instruction Number: one of more than 15 digits is within a unit in the last place of its double.
Enclosure enclosure_of(const Function::Instruction& number);

/// Returns bounds of the value, or undefined() if the function or an argument is undefined. Sets `doubtful`, with any()
/// as the value, where the bounds of an operand do not decide whether it is defined.
Enclosure evaluate_strictly(const Function& function, std::span<const Enclosure> arguments, bool& doubtful);

}  // namespace rulemill::algebra
