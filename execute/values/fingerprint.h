// The fingerprint of a tensor: 128 bits over its type and values.
#pragma once

#include <compare>
#include <cstdint>

#include "execute/values/field.h"

namespace rulemill::execute {

/// Unequal values of one type share a fingerprint with probability at most 2^−62.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Fingerprint&) const = default;
  auto operator<=>(const Fingerprint&) const = default;
};

/// Combines the two hashes of a tensor's values with the key of its type.
RM_HD constexpr Fingerprint finish_hash(std::uint64_t first, std::uint64_t second, std::uint64_t type) {
  return {mix(first + mix(type)), mix(second + mix(~type))};
}

}  // namespace rulemill::execute
