// One piece of memory for all that a plan computes: tensors that are never needed at the same time share it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rulemill::optimize::gpu {

/// Needed from step `first` to step `last`, both included.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0, last = 0;

  bool meets(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

struct Arena {
  std::vector<std::size_t> offsets;  // by lifetime; multiples of the alignment
  std::size_t bytes = 0;
};

inline constexpr std::size_t arena_alignment = 256;  // what cudaMalloc gives, and vector loads want

/// The largest first, each at the lowest place that is free all its life.
Arena arena_of(std::span<const Lifetime> lifetimes);

/// The most bytes that are needed at once: no arena is smaller.
std::size_t least_bytes(std::span<const Lifetime> lifetimes);

}  // namespace rulemill::optimize::gpu
