// Builds the rows of shards and the dictionary from the results of a level runner. The bytes do not depend on ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "fingerprint/level_runner.h"
#include "fingerprint/shards.h"

namespace rulemill::fingerprint {

class ShardBuilder {
 public:
  /// The runner must have begun the last level.
  ShardBuilder(const enumerate::Profile& profile, const LevelRunner& runner);

  const Dictionary& dictionary() const { return dictionary_; }

  /// Rows [first, last) of the last level.
  struct RowInterval {
    std::uint64_t first = 0, last = 0;
  };
  /// Returns the rows to evaluate for terms [first, last): a few more, because a node's outputs may span two shards.
  RowInterval rows_of_terms(std::uint64_t first, std::uint64_t last) const;

  /// Rows and their results.
  struct Chunk {
    RowInterval rows;
    EvaluatedRows results;
  };
  Chunk allocate(RowInterval rows) const;
  /// Returns the multiply-adds.
  std::uint64_t evaluate(Chunk& chunk) const;

  /// What rows of the last level represent.
  struct Counts {
    std::uint64_t nodes = 0;
    std::uint64_t terms = 0;
  };
  /// Builds the rows of terms [first, last) from an evaluated chunk. All members are thread-safe.
  Counts build(std::uint64_t first, std::uint64_t last, const Chunk& chunk, ShardRows& rows) const;

 private:
  void set_node(enumerate::SignatureId signature, std::uint32_t level, std::uint64_t output,
                const enumerate::TermId* arguments, std::size_t row, ShardRows& rows) const;
  void copy_stored_row(enumerate::TermId t, std::size_t row, ShardRows& rows) const;
  static void set_fingerprint(const OrbitFingerprint& fingerprint, std::size_t row, ShardRows& rows);

  const LevelRunner& runner_;
  Dictionary dictionary_;
  std::vector<std::uint16_t> instance_;  // by signature
  std::uint32_t sizes_width_ = 1;
  std::uint64_t max_outputs_ = 1;
};

}  // namespace rulemill::fingerprint
