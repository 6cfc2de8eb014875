#include "optimize/gpu/plan/arena.h"

#include <algorithm>
#include <numeric>

namespace rulemill::optimize::gpu {

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

}  // namespace

Arena pack_arena(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return lifetimes[i].bytes; });
  Arena arena{std::vector<std::size_t>(lifetimes.size(), 0), 0};
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!lifetimes[i].overlaps(lifetimes[other])) continue;
      if (offset + aligned(lifetimes[i].bytes) <= arena.offsets[other]) break;
      offset = std::max(offset, arena.offsets[other] + aligned(lifetimes[other].bytes));
    }
    arena.offsets[i] = offset;
    arena.bytes = std::max(arena.bytes, offset + aligned(lifetimes[i].bytes));
    const auto position =
        std::ranges::upper_bound(placed, offset, {}, [&](std::size_t other) { return arena.offsets[other]; });
    placed.insert(position, i);
  }
  return arena;
}

std::size_t min_arena_bytes(std::span<const Lifetime> lifetimes) {
  std::size_t max_bytes = 0;
  for (const Lifetime& at : lifetimes) {
    std::size_t bytes = 0;
    for (const Lifetime& other : lifetimes) {
      if (other.first <= at.first && at.first <= other.last) bytes += aligned(other.bytes);
    }
    max_bytes = std::max(max_bytes, bytes);
  }
  return max_bytes;
}

}  // namespace rulemill::optimize::gpu
