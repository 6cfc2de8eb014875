// Memory for all tensors of a plan. Tensors whose lifetimes do not overlap share memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rulemill::optimize::gpu {

/// A tensor that is needed from step `first` to step `last`, inclusive.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;

  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

struct Arena {
  std::vector<std::size_t> offsets;  // by lifetime; multiples of arena_alignment
  std::size_t bytes = 0;
};

inline constexpr std::size_t arena_alignment = 256;  // that of cudaMalloc; sufficient for vector loads

/// Assigns offsets greedily: largest first, each at the lowest free offset.
Arena pack_arena(std::span<const Lifetime> lifetimes);

/// Returns the maximum number of bytes alive at one step, a lower bound for any arena.
std::size_t min_arena_bytes(std::span<const Lifetime> lifetimes);

}  // namespace rulemill::optimize::gpu
