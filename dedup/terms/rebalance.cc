#include "dedup/terms/rebalance.h"

#include <algorithm>

namespace rulemill::dedup {

// Concatenates the surpluses of all ranks, and the deficits of all ranks; a surplus is sent to the deficits at the same
// offset.
std::vector<std::uint64_t> transfers_from(const std::vector<std::uint64_t>& costs, std::size_t rank) {
  std::uint64_t total = 0;
  for (const std::uint64_t cost : costs) total += cost;
  const std::uint64_t share = (total + costs.size() - 1) / costs.size();
  const auto surplus = [&](std::size_t r) { return costs[r] > share ? costs[r] - share : 0; };
  std::uint64_t offset = 0;  // surplus of the ranks before this one
  for (std::size_t r = 0; r < rank; ++r) offset += surplus(r);
  std::vector<std::uint64_t> transfers(costs.size(), 0);
  std::uint64_t deficit = 0;  // of the ranks up to r
  for (std::size_t r = 0; r < costs.size(); ++r) {
    const std::uint64_t begin = std::max(deficit, offset);
    deficit += costs[r] < share ? share - costs[r] : 0;
    const std::uint64_t end = std::min(deficit, offset + surplus(rank));
    transfers[r] = end > begin ? end - begin : 0;
  }
  return transfers;
}

}  // namespace rulemill::dedup
