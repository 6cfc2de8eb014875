// Evaluates the nodes that an enumerator shows, eight of one signature at a time, and notes what each row is and its
// fingerprint. One evaluator a thread. Nodes that come in full blocks are evaluated in place; others wait until eight
// of their signature have gathered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "enumerate/enumerator.h"
#include "fingerprint/executor.h"
#include "fingerprint/value_store.h"

namespace rulemill::fingerprint {

/// A signature's program and the type keys of its outputs.
struct CompiledSignature {
  Program program;
  std::vector<std::uint64_t> type_keys;
};

/// Rows [first, first + size) of a level.
struct RowRange {
  std::uint64_t first = 0;
  std::vector<enumerate::SignatureId> signatures;
  std::vector<enumerate::TermId> arguments;  // arity_stride a row
  std::vector<Fingerprint> fingerprints;

  void resize(std::uint64_t first_row, std::uint64_t rows, std::uint32_t arity_stride);
};

class Evaluator final : public enumerate::NodeSink {
 public:
  /// `compiled` by signature. With `rows`, rows are noted there (other threads may note other rows at the same time).
  Evaluator(const enumerate::Enumerator& enumerator, std::span<const CompiledSignature* const> compiled,
            const ValueStore& values, const Executor& executor, RowRange* rows);

  /// Instead of noting rows: keep the values of row r in `store` if term first_term + r is extended.
  void store_values(ValueStore& store, enumerate::TermId first_term);

  void block(enumerate::SignatureId signature, std::span<const enumerate::TermId> fixed, std::uint32_t open,
             std::uint32_t group, std::uint32_t block, std::uint8_t lanes, std::uint64_t row) override;
  void single(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments,
              std::uint64_t row) override;
  /// Evaluates what still waits. Call it after the last walk.
  void finish();

  std::uint64_t products() const { return products_; }        // multiply-adds of the nodes so far
  std::uint64_t evaluations() const { return evaluations_; }  // of blocks

 private:
  struct Waiting {
    std::uint32_t count = 0;
    std::array<std::uint64_t, block_width> rows{};
    std::array<enumerate::TermId, block_width * enumerate::max_arity> arguments{};
  };
  void flush(enumerate::SignatureId signature, Waiting& waiting);
  const Pair* replicated(std::uint32_t position, enumerate::TermId term);
  void run(enumerate::SignatureId signature, const std::array<const Pair*, enumerate::max_arity>& inputs,
           std::span<const std::uint64_t> lane_rows, std::uint8_t lanes);
  void note(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments, std::uint64_t row);

  const enumerate::Enumerator& enumerator_;
  std::span<const CompiledSignature* const> compiled_;
  const ValueStore& values_;
  const Executor& executor_;
  RowRange* rows_;
  ValueStore* store_ = nullptr;
  enumerate::TermId first_term_ = 0;

  std::vector<Waiting> waiting_;  // by signature
  std::vector<std::uint32_t> waiting_index_;
  std::vector<enumerate::SignatureId> waiting_signatures_;
  std::vector<Pair> scratch_;
  std::array<std::vector<Pair>, enumerate::max_arity> gathered_;
  std::array<std::vector<Pair>, enumerate::max_arity> replicated_;
  std::array<enumerate::TermId, enumerate::max_arity> replicated_term_{};
  std::vector<Fingerprint> fingerprints_;
  std::uint64_t products_ = 0, evaluations_ = 0;
};

}  // namespace rulemill::fingerprint
