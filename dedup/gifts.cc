#include "dedup/gifts.h"

#include <algorithm>

namespace rulemill::dedup {

// What is above the share, rank after rank, and the room below it, rank after rank, are laid side by side.
std::vector<std::uint64_t> gifts(const std::vector<std::uint64_t>& costs, std::size_t rank) {
  std::uint64_t total = 0;
  for (const std::uint64_t cost : costs) total += cost;
  const std::uint64_t share = (total + costs.size() - 1) / costs.size();
  const auto over = [&](std::size_t r) { return costs[r] > share ? costs[r] - share : 0; };
  std::uint64_t before = 0;  // what the ranks before this one give away
  for (std::size_t r = 0; r < rank; ++r) before += over(r);
  std::vector<std::uint64_t> given(costs.size(), 0);
  std::uint64_t room = 0;  // of the ranks up to r
  for (std::size_t r = 0; r < costs.size(); ++r) {
    const std::uint64_t begin = std::max(room, before);
    room += costs[r] < share ? share - costs[r] : 0;
    const std::uint64_t end = std::min(room, before + over(rank));
    given[r] = end > begin ? end - begin : 0;
  }
  return given;
}

}  // namespace rulemill::dedup
