// Integer arithmetic that never wraps: it throws Overflow, so that no proof, type, plan or memory size depends on a
// wrapped number. A caller that knows the position in a file adds it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "runtime/text/error.h"

namespace rulemill::algebra {

/// A number beyond 64 bits. Thrown without a position.
class Overflow : public runtime::InputError {
 public:
  explicit Overflow(const std::string& what) : InputError("", what) {}
};

/// Returns the result unless it overflowed. -2^63 counts as overflow, so that negation, absolute value and division of
/// a result cannot wrap either.
inline std::int64_t checked(bool overflow, std::int64_t result) {
  if (overflow || result == std::numeric_limits<std::int64_t>::min()) throw Overflow("a number exceeds 64 bits");
  return result;
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  const bool overflow = __builtin_add_overflow(a, b, &sum);
  return checked(overflow, sum);
}

inline std::int64_t checked_subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  const bool overflow = __builtin_sub_overflow(a, b, &difference);
  return checked(overflow, difference);
}

inline std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &product);
  return checked(overflow, product);
}

/// Returns floor(a / b) for all signs.
inline std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw runtime::Error("", "division by zero");
  if (b == -1) return checked_subtract(0, a);
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// Returns the number of elements of a tensor with these dimensions. Throws Overflow beyond 2^62, which no memory
/// holds.
inline std::int64_t element_count(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    count = checked_multiply(count, dim);
    if (count > (std::int64_t{1} << 62)) throw Overflow("a tensor has more than 2^62 elements");
  }
  return count;
}

}  // namespace rulemill::algebra
