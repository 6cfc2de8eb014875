// The domain over which graphs are evaluated for fingerprints.
#pragma once

#include <cstdint>

namespace rulemill::algebra {

/// Field: a prime field, in which a scalar function is a hash that satisfies the function's laws. Reals: double
/// precision.
enum class Domain : std::uint8_t { Field, Reals };

}  // namespace rulemill::algebra
