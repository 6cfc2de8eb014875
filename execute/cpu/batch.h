// A batch: nodes whose arguments are available, in a value store or in an arena that an earlier batch filled.
#pragma once

#include <cstdint>
#include <span>

#include "execute/program/program_view.h"
#include "execute/values/fingerprint.h"

namespace rulemill::execute {

/// A reference to a tensor: group and slot in a value store, or the offset of its first pair in an arena. Element e is
/// at [e · block_width].
class TensorRef {
 public:
  static TensorRef stored(std::uint32_t group, std::uint32_t slot) {
    return TensorRef(std::uint64_t{group} << 32 | slot);
  }
  static TensorRef arena(std::uint64_t offset) { return TensorRef(offset | arena_bit); }
  TensorRef() = default;
  bool in_arena() const { return (bits_ & arena_bit) != 0; }
  std::uint32_t group() const { return static_cast<std::uint32_t>(bits_ >> 32); }
  std::uint32_t slot() const { return static_cast<std::uint32_t>(bits_); }
  std::uint64_t offset() const { return bits_ & ~arena_bit; }

 private:
  static constexpr std::uint64_t arena_bit = std::uint64_t{1} << 63;

  explicit TensorRef(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

struct BatchNode {
  static constexpr std::uint64_t not_kept = ~std::uint64_t{0};
  std::uint32_t program = 0;            // number of the node's program
  std::uint32_t first_fingerprint = 0;  // index of output 0's fingerprint; those of the other outputs follow
  TensorRef arguments[max_inputs];
  std::uint64_t keep_at = not_kept;  // arena offset for the values of output `keep_output`
  std::uint32_t keep_output = 0;
};

}  // namespace rulemill::execute
