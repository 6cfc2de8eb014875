// Tensor values over the reals: doubles in place of field pairs. Elements are stored at several points, since piecewise
// functions such as max may agree at a few points. Element e at point p is stored element e · real_points + p.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "algebra/execution/domain.h"
#include "execute/values/field.h"

namespace rulemill::execute {

inline constexpr std::uint32_t real_points = 8;

/// Number of stored elements per tensor element.
constexpr std::uint32_t points_per_element(algebra::Domain domain) {
  return domain == algebra::Domain::Reals ? real_points : 1;
}

inline double real_of(FieldPair word) { return std::bit_cast<double>(word); }
inline FieldPair word_of(double value) { return std::bit_cast<FieldPair>(value); }

/// Maps undefined and infinite values to one NaN.
inline double canonical(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

/// Returns a variable's element at a point. All values of all variables are positive at point 0 and negative at point
/// 1; at points 2 and 3 the values of one variable have equal signs; at the others, signs are mixed. Magnitudes range
/// from 1/16 to 8 and differ between points, so that functions with a threshold are tested on both sides of it.
double random_real(std::uint64_t variable, std::uint32_t element, std::uint32_t point);

/// Returns stored element `stored` of a variable.
inline FieldPair random_value(algebra::Domain domain, std::uint64_t variable, std::uint32_t stored) {
  if (domain == algebra::Domain::Field) return random_pair(variable, stored);
  return word_of(random_real(variable, stored / real_points, stored % real_points));
}

/// Rounds a value to a word, such that values that differ only by rounding share a word, except one in millions. It
/// distinguishes relative differences of 2^−18, and below 2^−8 absolute differences of 2^−26. Numbers of few binary
/// digits, such as 0, lie in the middle of an interval, so that rounding never changes their word.
std::uint64_t quantize(double value);

}  // namespace rulemill::execute
