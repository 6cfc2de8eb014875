// Eight lanes with AVX-512. The pragma follows all standard headers, so that it does not apply to shared inline code.
#include <cstdint>

#include "execute/kernels/kernels.h"

#ifdef __x86_64__
#include <immintrin.h>
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#endif
#include "execute/kernels/kernel_entry.h"

namespace rulemill::execute {
namespace {

struct Avx512Lanes {
  static constexpr std::uint32_t width = 8;
  using Mask = __mmask8;
  __m512i v;

  static Avx512Lanes load(const FieldPair* p) { return {_mm512_loadu_si512(p)}; }
  void store(FieldPair* p) const { _mm512_storeu_si512(p, v); }
  static Avx512Lanes set1(std::uint64_t x) { return {_mm512_set1_epi64(static_cast<long long>(x))}; }
  Avx512Lanes operator+(Avx512Lanes b) const { return {_mm512_add_epi64(v, b.v)}; }
  Avx512Lanes operator^(Avx512Lanes b) const { return {_mm512_xor_si512(v, b.v)}; }
  Avx512Lanes operator|(Avx512Lanes b) const { return {_mm512_or_si512(v, b.v)}; }
  Avx512Lanes operator&(Avx512Lanes b) const { return {_mm512_and_si512(v, b.v)}; }
  template <int n>
  Avx512Lanes shr() const {
    return {_mm512_srli_epi64(v, n)};
  }
  template <int n>
  Avx512Lanes shl() const {
    return {_mm512_slli_epi64(v, n)};
  }
  Avx512Lanes mul32(Avx512Lanes b) const { return {_mm512_mul_epu32(v, b.v)}; }
  Avx512Lanes mul64(Avx512Lanes b) const { return {_mm512_mullo_epi64(v, b.v)}; }
  static Mask equal(Avx512Lanes a, Avx512Lanes b) { return _mm512_cmpeq_epu64_mask(a.v, b.v); }
  static Mask less(Avx512Lanes a, Avx512Lanes b) { return _mm512_cmplt_epu64_mask(a.v, b.v); }
  static Avx512Lanes select(Mask m, Avx512Lanes a, Avx512Lanes b) { return {_mm512_mask_blend_epi64(m, b.v, a.v)}; }
};

}  // namespace

Kernels avx512_kernels() { return {run_block<Avx512Lanes>, hash_block<Avx512Lanes>}; }

}  // namespace rulemill::execute
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
namespace rulemill::execute {
Kernels avx512_kernels() { return {}; }
}  // namespace rulemill::execute
#endif
