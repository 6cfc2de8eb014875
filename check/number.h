// Numbers modulo a prime, in which definitions are evaluated: two polynomials that differ do so at random points almost
// surely.
#pragma once

#include <cstdint>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::check {

using Number = std::uint64_t;

Number reduced(std::uint64_t bits);
Number times(Number a, Number b);
Number plus(Number a, Number b);
Number minus(Number a);
Number of(std::int64_t n);
Number inverse(Number a);
/// Numbers in the upper half count as below zero.
bool less(Number a, Number b);

/// One function of numbers that has the laws declared: what it computes, where that is exact; else a hash.
Number apply(const algebra::Function& f, std::uint32_t number, std::vector<Number> arguments);

}  // namespace rulemill::check
