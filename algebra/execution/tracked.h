// A number with a bound of the error of the arithmetic that led to it, to first order: what another order of
// operations, in floats of any precision, may differ by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "algebra/operators/function_evaluation.h"

namespace rulemill::algebra {

/// `error` is in unit roundoffs of the type to which results are rounded: a result x adds |x|, and a sum of more than
/// two terms, which may be added in any order, their absolute values. It is infinite if rounding may decide a
/// comparison. A result that leaves the range of doubles, though its operands are in it, is unknown: NaN.
struct Tracked {
  double value = 0, error = 0;

  Tracked() = default;
  Tracked(double number) : value(number) {}
  Tracked(double number, double bound)
      : value(number),
        error(!std::isfinite(number) ? 0
              : std::isnan(bound)    ? infinite
                                     : bound) {}

  static constexpr double infinite = std::numeric_limits<double>::infinity();
  /// The error of an exponential of 0, such as the weight of a masked element: it is above 0 over the reals.
  static constexpr double underflow = std::numeric_limits<double>::min();
};

/// Whether a value of 0 is a sum of such exponentials.
inline bool is_underflowed(Tracked sum) {
  return sum.value == 0 && sum.error > 0 && sum.error < std::sqrt(Tracked::underflow);
}

/// Returns the result of an operation, or NaN if it left the range of doubles though its operands are finite.
/// `is_zero`: a result of 0 is 0 over the reals, too.
inline double in_range(double result, double a, double b, bool is_zero) {
  const bool is_lost = !std::isnormal(result) && !(result == 0 && is_zero) && std::isfinite(a) && std::isfinite(b);
  return is_lost ? std::numeric_limits<double>::quiet_NaN() : result;
}

/// Factors of 0 and powers of two round nothing.
inline Tracked operator*(Tracked a, Tracked b) {
  const double product = in_range(a.value * b.value, a.value, b.value, a.value == 0 || b.value == 0);
  const auto is_exact = [](double factor) {
    int exponent = 0;
    return factor == 0 || std::abs(std::frexp(factor, &exponent)) == 0.5;
  };
  const auto scaled = [](double error, double factor) { return error == 0 ? 0 : error * std::abs(factor); };
  const double rounding = is_exact(a.value) || is_exact(b.value) ? 0 : std::abs(product);
  return {product, scaled(a.error, b.value) + scaled(b.error, a.value) + rounding};
}

inline Tracked operator+(Tracked a, Tracked b) {
  const double sum = in_range(a.value + b.value, a.value, b.value, true);
  return {sum, a.error + b.error + (a.value == 0 || b.value == 0 ? 0 : std::abs(sum))};
}
inline Tracked operator-(Tracked a) { return {-a.value, a.error}; }

/// A sum in progress, of terms that are not zero.
struct TrackedSum {
  double value = 0, error = 0, magnitude = 0;
  std::uint64_t terms = 0;

  TrackedSum& operator+=(const TrackedSum& other) {
    value = in_range(value + other.value, value, other.value, true);
    error += other.error;
    magnitude += other.magnitude;
    terms += other.terms;
    return *this;
  }
  TrackedSum& operator+=(Tracked term) {
    return *this += TrackedSum{term.value, term.error, std::abs(term.value), term.value == 0 ? 0U : 1U};
  }
  operator Tracked() const {
    if (terms < 3) return {value, error + (terms < 2 ? 0 : std::abs(value))};
    return {value, error + magnitude * static_cast<double>(std::min<std::uint64_t>(terms - 1, 4))};
  }
};

/// What a sum of numbers is accumulated in.
template <class Real>
struct Accumulator {
  using Type = Real;
};
template <>
struct Accumulator<Tracked> {
  using Type = TrackedSum;
};

/// Returns whether the sign of a difference is the same whatever the rounding: even if results were rounded to 8 bits.
inline bool is_decided(Tracked a, Tracked b) {
  const double error = a.error + b.error;
  return error == 0 || error < 256 * std::abs(a.value - b.value);
}

inline double larger(double a, double b) { return std::max(a, b); }
inline float larger(float a, float b) { return std::max(a, b); }
inline Tracked larger(Tracked a, Tracked b) {
  const bool is_second = a.value < b.value;
  if (is_decided(a, b)) return is_second ? b : a;
  return {is_second ? b.value : a.value, std::max(a.error, b.error)};
}

/// One instruction of a scalar function. The error is the rounding of the result and what the errors of the operands
/// make of it, by difference quotients.
template <>
inline Tracked apply(Function::Op op, Tracked a, Tracked b) {
  using Op = Function::Op;
  const double value = apply(op, a.value, b.value);
  const auto undecided = [&](bool is_known) { return Tracked(value, is_known ? 0 : Tracked::infinite); };
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a + -b;
    case Op::Mul:
      return a * b;
    case Op::Max:
      return larger(a, b);
    case Op::Min:
      return -larger(-a, -b);
    case Op::Less:
    case Op::Equal:
      return undecided(is_decided(a, b));
    case Op::Gate:
      return a.value == 0 ? undecided(a.error == 0) : Tracked(value, is_decided(a, 0.0) ? b.error : Tracked::infinite);
    case Op::Floor:
      return undecided(b.error == 0 || (is_decided(b, value) && is_decided(b, value + 1)));
    case Op::Abs:
      return {value, b.error};
    default:
      break;
  }
  if (op == Op::Exp && value == 0 && std::isfinite(b.value)) return {0, Tracked::underflow};
  const double known = in_range(value, a.value, b.value, a.value == 0 || is_unary(op));
  if (std::isnan(known)) return known;
  double error = std::abs(value) * (op == Op::Div || op == Op::Sqrt ? 1 : 4);
  const auto add_slope = [&](Tracked operand, const auto& at) {
    if (operand.error == 0) return;
    const double step = std::max(std::abs(operand.value) * 0x1p-26, 0x1p-500);
    const double up = std::abs(at(operand.value + step) - value), down = std::abs(at(operand.value - step) - value);
    error += std::max(up, down) / step * operand.error;
  };
  if (!is_unary(op)) add_slope(a, [&](double x) { return apply(op, x, b.value); });
  add_slope(b, [&](double x) { return apply(op, a.value, x); });
  return {value, error};
}

}  // namespace rulemill::algebra
