// Evaluation of batches on the CPU. Nodes are collected until there are eight of one program, which one executor call
// evaluates. Arguments that are adjacent in a block are used in place.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/cpu/batch.h"
#include "execute/cpu/executor.h"
#include "execute/values/aligned_pairs.h"
#include "execute/values/value_store.h"

namespace rulemill::execute {

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
