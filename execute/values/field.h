// The prime field of 2^31 − 1 elements. A FieldPair holds a tensor element's values at two random points, its lanes:
// lane 0 in the low and lane 1 in the high 32 bits, each canonical (0 … p−1). All functions are host and device code;
// the vector forms in kernel_body.h compute the same bits.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define RM_HD __host__ __device__
#else
#define RM_HD
#endif

namespace rulemill::execute {

inline constexpr std::uint64_t prime = (std::uint64_t{1} << 31) - 1;
inline constexpr std::uint64_t lane_mask = 0xffffffffu;

using FieldPair = std::uint64_t;

RM_HD constexpr FieldPair pair_of(std::uint64_t lane0, std::uint64_t lane1) { return lane0 | lane1 << 32; }

/// x mod p for any 64-bit x, by 2^31 = 1.
RM_HD constexpr std::uint64_t reduce(std::uint64_t x) {
  x = (x & prime) + (x >> 31);
  x = (x & prime) + (x >> 31);
  return x >= prime ? x - prime : x;
}

RM_HD constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) { return reduce(a * b); }

constexpr std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1, base = multiply(base, base)) {
    if (exponent & 1) result = multiply(result, base);
  }
  return result;
}

/// b^−1 = b^(p−2); b must not be 0 mod p.
constexpr std::uint64_t inverse(std::uint64_t b) { return power(b, prime - 2); }

/// num / den as a field element, num of either sign.
constexpr std::uint64_t field_element(std::int64_t num, std::int64_t den) {
  const auto p = static_cast<std::int64_t>(prime);
  const auto n = static_cast<std::uint64_t>((num % p + p) % p);
  const auto d = static_cast<std::uint64_t>((den % p + p) % p);
  return multiply(n, inverse(d));
}

/// A bijective hash of 64-bit words (Stafford's mix 13).
RM_HD constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Word `index` of the random stream `seed`.
constexpr std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
  return mix(mix(seed) + 0x9e3779b97f4a7c15u * (index + 1));
}

/// Two independent non-zero field elements.
constexpr FieldPair random_pair(std::uint64_t seed, std::uint64_t index) {
  return pair_of(1 + random_word(seed, 2 * index) % (prime - 1), 1 + random_word(seed, 2 * index + 1) % (prime - 1));
}

}  // namespace rulemill::execute
