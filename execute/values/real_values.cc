#include "execute/values/real_values.h"

namespace rulemill::execute {

double random_real(std::uint64_t variable, std::uint32_t element, std::uint32_t point) {
  constexpr double largest[real_points] = {2, 2, 4, 1, 1, 8, 2, 0.5};
  const std::uint64_t word = random_word(variable, std::uint64_t{element} * real_points + point);
  const double magnitude = largest[point] * (0.125 + 0.875 * (static_cast<double>(word >> 11) * 0x1p-53));
  const std::uint64_t sign = point < 2 ? point : point < 4 ? random_word(~variable, point) : word;
  return (sign & 1) != 0 ? -magnitude : magnitude;
}

// A magnitude of at least 2^−8 maps to its base-2 logarithm plus 9, interpolated linearly between powers of two; a
// smaller one to itself times 2^8. The map is continuous and increasing.
std::uint64_t quantize(double value) {
  if (!std::isfinite(value)) return std::uint64_t{1} << 63;
  int exponent = 0;
  const double magnitude = std::fabs(value) * 0x1p8, mantissa = std::frexp(magnitude, &exponent);
  const double position = magnitude < 1 ? magnitude : exponent + (2 * mantissa - 1);
  const auto rounded = static_cast<std::int64_t>(std::floor(position * 0x1p18 + 0.5));
  return static_cast<std::uint64_t>(value < 0 ? -rounded : rounded);
}

}  // namespace rulemill::execute
