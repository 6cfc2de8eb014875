// Nodes to evaluate whose arguments are all at hand: tensors of a store, which stay for a whole level, and tensors that
// an earlier wave left in an arena.
#pragma once

#include <cstdint>
#include <span>

#include "execute/fingerprint.h"
#include "execute/program_view.h"

namespace rulemill::execute {

/// Most tensors that a node takes.
inline constexpr std::uint32_t most_inputs = 8;

/// A tensor: one of the store, by group and slot, or one in the arena by its first pair there. Element e is at
/// [e · block_width].
class TensorRef {
 public:
  static TensorRef stored(std::uint32_t group, std::uint32_t slot) {
    return TensorRef(std::uint64_t{group} << 32 | slot);
  }
  static TensorRef arena(std::uint64_t at) { return TensorRef(at | arena_bit); }
  TensorRef() = default;
  bool in_arena() const { return (bits_ & arena_bit) != 0; }
  std::uint32_t group() const { return static_cast<std::uint32_t>(bits_ >> 32); }
  std::uint32_t slot() const { return static_cast<std::uint32_t>(bits_); }
  std::uint64_t at() const { return bits_ & ~arena_bit; }

 private:
  static constexpr std::uint64_t arena_bit = std::uint64_t{1} << 63;

  explicit TensorRef(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

struct WaveNode {
  static constexpr std::uint64_t not_kept = ~std::uint64_t{0};
  std::uint32_t program = 0;  // number of the program that the node runs
  std::uint32_t print = 0;    // place of output 0's fingerprint; the other outputs' follow
  TensorRef arguments[most_inputs];
  std::uint64_t keep_at = not_kept;  // where in the arena one output's values go
  std::uint32_t keep_output = 0;
};

}  // namespace rulemill::execute
