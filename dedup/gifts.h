// Who gives how much to whom, so that ranks whose parts were dealt out by hash end up with equal ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rulemill::dedup {

/// What rank `rank` gives to each rank, itself nothing, so that none has more than its share, rounded up; `costs`: what
/// each has. Every rank finds the same for all.
std::vector<std::uint64_t> gifts(const std::vector<std::uint64_t>& costs, std::size_t rank);

}  // namespace rulemill::dedup
