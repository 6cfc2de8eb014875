// Integer arithmetic that never wraps. A proof, a type, a plan or a memory size that depends on a number too large for
// 64 bits is not known: Overflow is thrown, and those who know the place in a file say it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "runtime/error.h"

namespace rulemill::algebra {

/// A number beyond 64 bits. Without a place when it is thrown.
class Overflow : public runtime::InputError {
 public:
  explicit Overflow(const std::string& what) : InputError("", what) {}
};

/// Results are symmetric, -2^63 is none of them: negation, absolute value and division of a result cannot wrap either.
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

/// The largest integer that is at most a / b, whatever the signs.
inline std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) throw runtime::Error("", "division by zero");
  if (b == -1) return checked_subtract(0, a);
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/// How many elements a tensor of these dimensions has. Throws Overflow beyond 2^62, whose bytes no memory can hold.
inline std::int64_t element_count(std::span<const std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    count = checked_multiply(count, dim);
    if (count > (std::int64_t{1} << 62)) throw Overflow("a tensor has more than 2^62 elements");
  }
  return count;
}

}  // namespace rulemill::algebra
