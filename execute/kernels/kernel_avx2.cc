// Four lanes with AVX2. The pragma follows all standard headers, so that it does not apply to shared inline code.
#include <cstdint>

#include "execute/kernels/kernels.h"

#ifdef __x86_64__
#include <immintrin.h>
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#include "execute/kernels/kernel_entry.h"

namespace rulemill::execute {
namespace {

struct Avx2Lanes {
  static constexpr std::uint32_t width = 4;
  using Mask = __m256i;
  __m256i v;

  static Avx2Lanes load(const FieldPair* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  void store(FieldPair* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static Avx2Lanes set1(std::uint64_t x) { return {_mm256_set1_epi64x(static_cast<long long>(x))}; }
  Avx2Lanes operator+(Avx2Lanes b) const { return {_mm256_add_epi64(v, b.v)}; }
  Avx2Lanes operator^(Avx2Lanes b) const { return {_mm256_xor_si256(v, b.v)}; }
  Avx2Lanes operator|(Avx2Lanes b) const { return {_mm256_or_si256(v, b.v)}; }
  Avx2Lanes operator&(Avx2Lanes b) const { return {_mm256_and_si256(v, b.v)}; }
  template <int n>
  Avx2Lanes shr() const {
    return {_mm256_srli_epi64(v, n)};
  }
  template <int n>
  Avx2Lanes shl() const {
    return {_mm256_slli_epi64(v, n)};
  }
  Avx2Lanes mul32(Avx2Lanes b) const { return {_mm256_mul_epu32(v, b.v)}; }
  // a·b mod 2^64 = a₀b₀ + 2^32 (a₀b₁ + a₁b₀)
  Avx2Lanes mul64(Avx2Lanes b) const {
    const Avx2Lanes cross = mul32(b.shr<32>()) + shr<32>().mul32(b);
    return mul32(b) + cross.shl<32>();
  }
  static Mask equal(Avx2Lanes a, Avx2Lanes b) { return _mm256_cmpeq_epi64(a.v, b.v); }
  /// The comparison is signed; pairs are below 2^63.
  static Mask less(Avx2Lanes a, Avx2Lanes b) { return _mm256_cmpgt_epi64(b.v, a.v); }
  static Avx2Lanes select(Mask m, Avx2Lanes a, Avx2Lanes b) { return {_mm256_blendv_epi8(b.v, a.v, m)}; }
};

}  // namespace

Kernels avx2_kernels() { return {run_block<Avx2Lanes>, hash_block<Avx2Lanes>}; }

}  // namespace rulemill::execute
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
namespace rulemill::execute {
Kernels avx2_kernels() { return {}; }
}  // namespace rulemill::execute
#endif
