// Evaluation of batches on the CPU. Nodes are collected until there are eight of one program, which one executor call
// evaluates. Arguments that are adjacent in a block are used in place.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/cpu/executor.h"
#include "execute/program/program_view.h"
#include "execute/values/aligned_pairs.h"
#include "execute/values/fingerprint.h"
#include "execute/values/value_store.h"

namespace rulemill::execute {

/// A tensor: group and slot in a value store, or the offset of its first pair in an arena. Element e: [e · block_width]
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

class BatchEvaluator {
 public:
  BatchEvaluator(std::span<const TypedProgram* const> programs, const ValueStore& values, const Executor& executor);

  algebra::Domain domain() const { return executor_.domain(); }
  /// Batch size that fits a core's cache.
  struct BatchSize {
    std::uint64_t nodes = 1 << 13;
    std::uint64_t arena_pairs = 1 << 17;
  };
  static BatchSize preferred_batch_size() { return {}; }
  /// Resizes the arena to at least `arena_pairs` pairs; discards its contents.
  void reserve(std::uint64_t arena_pairs);
  void run(std::span<const BatchNode> nodes, std::span<Fingerprint> fingerprints);

  /// Adds a node, which is evaluated by finish() at the latest. Output o's fingerprint goes to fingerprints[o]. If
  /// `keep` is given, element e of output `keep_output` goes to keep[e · block_width].
  void add(std::uint32_t program, std::span<const FieldPair* const> arguments, Fingerprint* fingerprints,
           FieldPair* keep = nullptr, std::uint32_t keep_output = 0);
  void finish();

 private:
  struct PendingBlock {
    std::uint32_t count = 0;
    std::array<std::array<const FieldPair*, block_width>, max_inputs> arguments{};
    std::array<Fingerprint*, block_width> fingerprints{};
    std::array<FieldPair*, block_width> keep{};
    std::array<std::uint32_t, block_width> keep_output{};
  };
  void flush(std::uint32_t program, PendingBlock& pending);
  const FieldPair* gather(std::uint32_t argument, const PendingBlock& pending, std::uint32_t elements);
  const FieldPair* tensor(TensorRef ref) const;

  std::span<const TypedProgram* const> programs_;
  const ValueStore& values_;
  const Executor& executor_;
  AlignedPairs arena_;
  std::vector<PendingBlock> pending_;
  std::vector<std::uint32_t> pending_index_;  // by program
  std::vector<std::uint32_t> pending_programs_;
  std::vector<FieldPair> scratch_;
  std::array<std::vector<FieldPair>, max_inputs> gather_buffers_;
  std::vector<Fingerprint> fingerprints_;
};

}  // namespace rulemill::execute
