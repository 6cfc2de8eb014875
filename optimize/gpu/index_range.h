// Which values a polynomial over indices takes where every index runs from 0 to below a known extent, and the
// polynomial with all that follows from this taken out: quotients that are one number, or whose divisor can be smaller.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "algebra/sizes/poly.h"

namespace rulemill::optimize::gpu {

/// 0 ≤ index < extent. All extents are at least 1.
using Extents = std::unordered_map<algebra::Atom, std::int64_t>;

struct Range {
  std::int64_t low = 0, high = 0;  // both are included; the value need not come near them
};

/// Throws Overflow beyond 64 bits, Error for an index without extent.
Range range_of(const algebra::Poly& poly, const Extents& extents, const algebra::Symbols& symbols);

/// factor · (dividend mod divisor) + rest, with fewer terms than the polynomial: polynomials have remainders as
/// a − b · floor(a / b), in which a's own range is not seen.
struct Remainder {
  algebra::Poly dividend, rest;
  std::int64_t divisor = 1, factor = 1;
};
std::optional<Remainder> remainder_in(const algebra::Poly& poly, const algebra::Symbols& symbols);

/// The same number wherever the indices are in their ranges.
algebra::Poly simplified(const algebra::Poly& poly, const Extents& extents, algebra::Symbols& symbols);

}  // namespace rulemill::optimize::gpu
