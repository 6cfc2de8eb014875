// Runs waves on the CPU, eight nodes of one program at a time: nodes wait until eight of their program have
// gathered. Arguments that already lie side by side are used where they are.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/aligned_pairs.h"
#include "execute/executor.h"
#include "execute/value_store.h"
#include "execute/wave.h"

namespace rulemill::execute {

class Evaluator {
 public:
  Evaluator(std::span<const TypedProgram* const> programs, const ValueStore& values, const Executor& executor);

  algebra::Domain domain() const { return executor_.domain(); }
  /// About how much to give it at a time: part of a core's cache.
  struct Batch {
    std::uint64_t nodes = 1 << 13;
    std::uint64_t arena_pairs = 1 << 17;
  };
  static Batch batch() { return {}; }
  /// Makes room for an arena of so many pairs; forgets what was in it.
  void reserve(std::uint64_t arena_pairs);
  void run(std::span<const WaveNode> nodes, std::span<Fingerprint> prints);

  /// Evaluates one node soon, at finish() at the latest: output o's fingerprint goes to prints[o]; with `keep`, the
  /// values of output `keep_output` go there, element e at [e · block_width].
  void add(std::uint32_t program, std::span<const Pair* const> arguments, Fingerprint* prints, Pair* keep = nullptr,
           std::uint32_t keep_output = 0);
  void finish();

 private:
  struct Waiting {
    std::uint32_t count = 0;
    std::array<std::array<const Pair*, block_width>, most_inputs> arguments{};
    std::array<Fingerprint*, block_width> prints{};
    std::array<Pair*, block_width> keep{};
    std::array<std::uint32_t, block_width> keep_output{};
  };
  void flush(std::uint32_t program, Waiting& waiting);
  const Pair* gathered(std::uint32_t argument, const Waiting& waiting, std::uint32_t elements);
  const Pair* tensor(TensorRef ref) const;

  std::span<const TypedProgram* const> programs_;
  const ValueStore& values_;
  const Executor& executor_;
  AlignedPairs arena_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> waiting_index_;  // by program
  std::vector<std::uint32_t> waiting_programs_;
  std::vector<Pair> scratch_;
  std::array<std::vector<Pair>, most_inputs> gathered_;
  std::vector<Fingerprint> fingerprints_;
};

}  // namespace rulemill::execute
