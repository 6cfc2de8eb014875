// Ranges of polynomials over indices, where every index runs from 0 to below a known extent, and simplification with
// these ranges: constant quotients, and quotients with smaller divisors.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "algebra/sizes/poly.h"

namespace rulemill::optimize::gpu {

/// 0 ≤ index < extent. All extents are at least 1.
using Extents = std::unordered_map<algebra::Atom, std::int64_t>;

struct Range {
  std::int64_t low = 0, high = 0;  // inclusive bounds, not necessarily attained
};

/// Throws Overflow beyond 64 bits, and Error for an index without an extent.
Range range_of(const algebra::Poly& poly, const Extents& extents, const algebra::Symbols& symbols);

/// A polynomial as factor · (dividend mod divisor) + rest, with fewer terms. In polynomials a remainder is a − b ·
/// floor(a / b), whose range is wider than that of a mod b.
struct Remainder {
  algebra::Poly dividend, rest;
  std::int64_t divisor = 1, factor = 1;
};
std::optional<Remainder> find_remainder(const algebra::Poly& poly, const algebra::Symbols& symbols);

/// Returns a polynomial that is equal for all indices in their ranges.
algebra::Poly simplify(const algebra::Poly& poly, const Extents& extents, algebra::Symbols& symbols);

}  // namespace rulemill::optimize::gpu
