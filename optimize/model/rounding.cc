#include "optimize/model/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace rulemill::optimize {

std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Numbers below 2^-14 are multiples of 2^-24.
float from_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 1024), std::max(exponent, 1) - 25);
  if (exponent == 31)
    value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return (bits & 0x8000) != 0 ? -value : value;
}

/// Numbers from 65520 on, which is halfway to 2^16, become infinite.
std::uint16_t to_float16(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520.0F) return sign | 0x7c00;
  if (size < 0x1p-14F) return static_cast<std::uint16_t>(sign | static_cast<int>(std::nearbyint(size * 0x1p24F)));
  int exponent = 0;
  const float fraction = std::frexp(size, &exponent);  // at least 1/2
  return static_cast<std::uint16_t>(
      sign | (((exponent + 14) << 10) + static_cast<int>(std::nearbyint(fraction * 2048)) - 1024));
}

double unit_roundoff(DataType type) {
  constexpr double in_order[] = {0x1p-24, 0x1p-11, 0x1p-8, 0x1p-53, 0, 0};  // of DataType
  return in_order[static_cast<std::size_t>(type)];
}

double rounded(double value, DataType type) {
  const auto single = static_cast<float>(value);
  switch (type) {
    case DataType::Float32:
      return single;
    case DataType::Float16:
      return from_float16(to_float16(single));
    case DataType::BFloat16:
      return from_bfloat16(to_bfloat16(single));
    default:
      return value;
  }
}

double smallest_normal(DataType type) {
  return type == DataType::Float64 ? 0x1p-1022 : type == DataType::Float16 ? 0x1p-14 : 0x1p-126;
}

bool is_in_range(double value, DataType type) {
  const double stored = rounded(value, type);
  return std::isfinite(stored) && (std::abs(stored) >= smallest_normal(type) || stored == value);
}

void round_to(algebra::Tensor& tensor, DataType type) {
  for (double& value : tensor.values) value = rounded(value, type);
}

}  // namespace rulemill::optimize
