// Rebalances work between ranks after partitioning by hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rulemill::dedup {

/// Returns how much `rank` sends to each rank, so that afterwards no rank has more than the average, rounded up.
/// `costs`: the cost of each rank's work. All ranks compute consistent transfers; a rank sends nothing to itself.
std::vector<std::uint64_t> transfers_from(const std::vector<std::uint64_t>& costs, std::size_t rank);

}  // namespace rulemill::dedup
