#include "execute/real_values.h"

namespace rulemill::execute {

double random_real(std::uint64_t variable, std::uint32_t element, std::uint32_t point) {
  constexpr double largest[real_points] = {2, 2, 4, 1, 1, 8, 2, 0.5};
  const std::uint64_t word = random_word(variable, std::uint64_t{element} * real_points + point);
  const double size = largest[point] * (0.125 + 0.875 * (static_cast<double>(word >> 11) * 0x1p-53));
  const std::uint64_t sign = point < 2 ? point : point < 4 ? random_word(~variable, point) : word;
  return (sign & 1) != 0 ? -size : size;
}

// A size of at least 2^−8 has its logarithm to base 2, with a straight line between powers of two, and 9 in addition; a
// smaller one itself, times 2^8: rising, in one piece.
std::uint64_t rounded_word(double value) {
  if (!std::isfinite(value)) return std::uint64_t{1} << 63;
  int exponent = 0;
  const double size = std::fabs(value) * 0x1p8, mantissa = std::frexp(size, &exponent);
  const double place = size < 1 ? size : exponent + (2 * mantissa - 1);
  const auto rounded = static_cast<std::int64_t>(std::floor(place * 0x1p18 + 0.5));
  return static_cast<std::uint64_t>(value < 0 ? -rounded : rounded);
}

}  // namespace rulemill::execute
