// What graphs are evaluated over to tell them apart.
#pragma once

#include <cstdint>

namespace rulemill::algebra {

/// A prime field, in which a function is a hash that keeps the laws of its definition; or the reals, in double
/// precision.
enum class Domain : std::uint8_t { Field, Reals };

}  // namespace rulemill::algebra
