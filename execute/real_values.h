// The values of tensors over the reals: doubles in place of pairs. Every element is there at several points, since what
// is piecewise, as max is, may agree at a few without being equal: element e of a tensor at point p is stored as
// element e · real_points + p.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "algebra/execution/domain.h"
#include "execute/field.h"

namespace rulemill::execute {

inline constexpr std::uint32_t real_points = 8;

/// How often an element is stored.
constexpr std::uint32_t points_of(algebra::Domain domain) { return domain == algebra::Domain::Reals ? real_points : 1; }

inline double real_of(Pair word) { return std::bit_cast<double>(word); }
inline Pair word_of(double value) { return std::bit_cast<Pair>(value); }

/// What is undefined, and what is too large for a double, is one NaN.
inline double canonical(double value) {
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

/// A variable's element at a point. At the first point all values of all variables are positive, at the second
/// negative, at two more those of a variable have one sign, elsewhere signs are mixed. Sizes differ from point to
/// point, from 1/16 to 8, so that what changes at some number is seen to.
double random_real(std::uint64_t variable, std::uint32_t element, std::uint32_t point);

/// What a variable has as its stored element `stored`.
inline Pair random_value(algebra::Domain domain, std::uint64_t variable, std::uint32_t stored) {
  if (domain == algebra::Domain::Field) return random_pair(variable, stored);
  return word_of(random_real(variable, stored / real_points, stored % real_points));
}

/// A word that values which differ by rounding alone share, but for one in millions: it tells numbers apart by 2^−18 of
/// their size, those below 2^−8 by 2^−26. Numbers of few binary digits, above all 0, lie in the middle of what is not
/// told apart, so that where they are exact results, rounding never shows.
std::uint64_t rounded_word(double value);

}  // namespace rulemill::execute
