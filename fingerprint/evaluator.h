// Runs waves on the CPU, eight nodes of one signature at a time: nodes wait until eight of their signature have
// gathered. Arguments that already lie side by side are used where they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fingerprint/executor.h"
#include "fingerprint/value_store.h"
#include "fingerprint/wave.h"

namespace rulemill::fingerprint {

class Evaluator final : public WaveRunner {
 public:
  /// `compiled` by signature.
  Evaluator(const enumerate::Enumerator& enumerator, std::span<const CompiledSignature* const> compiled,
            const ValueStore& values, const Executor& executor);

  /// Part of a core's cache.
  Batch batch() const override { return {1 << 13, 1 << 17}; }
  void reserve(std::uint64_t arena_pairs) override;
  void run(std::span<const WaveNode> nodes, std::span<Fingerprint> prints) override;

  /// Evaluates one node soon, at finish() at the latest: output o's fingerprint goes to prints[o]; with `keep`, the
  /// values of output `keep_output` go there, element e at [e · block_width].
  void add(enumerate::SignatureId signature, std::span<const Pair* const> arguments, Fingerprint* prints,
           Pair* keep = nullptr, std::uint32_t keep_output = 0);
  void finish();

 private:
  struct Waiting {
    std::uint32_t count = 0;
    std::array<std::array<const Pair*, block_width>, enumerate::max_arity> arguments{};
    std::array<Fingerprint*, block_width> prints{};
    std::array<Pair*, block_width> keep{};
    std::array<std::uint32_t, block_width> keep_output{};
  };
  void flush(enumerate::SignatureId signature, Waiting& waiting);
  const Pair* gathered(std::uint32_t argument, const Waiting& waiting, std::uint32_t elements);
  const Pair* tensor(TensorRef ref) const;

  const enumerate::Enumerator& enumerator_;
  std::span<const CompiledSignature* const> compiled_;
  const ValueStore& values_;
  const Executor& executor_;
  AlignedPairs arena_;
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> waiting_index_;  // by signature
  std::vector<enumerate::SignatureId> waiting_signatures_;
  std::vector<Pair> scratch_;
  std::array<std::vector<Pair>, enumerate::max_arity> gathered_;
  std::vector<Fingerprint> fingerprints_;
};

}  // namespace rulemill::fingerprint
