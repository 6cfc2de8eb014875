// Builds the rows of a shard from a level runner, and the dictionary of what their numbers mean; the same on every
// rank.
#pragma once

#include <cstdint>
#include <vector>

#include "fingerprint/level_runner.h"
#include "fingerprint/shards.h"

namespace rulemill::fingerprint {

class ShardBuilder {
 public:
  /// The runner's last level has begun.
  ShardBuilder(const enumerate::Profile& profile, const LevelRunner& runner);

  const Dictionary& dictionary() const { return dictionary_; }

  /// Rows [first, last) of the last level.
  struct Rows {
    std::uint64_t first = 0, last = 0;
  };
  /// Those that terms [first, last) are made of: a few more, since a node's outputs may lie in two shards.
  Rows rows_of_terms(std::uint64_t first, std::uint64_t last) const;

  /// Rows and, once they are evaluated, what they say.
  struct Part {
    Rows rows;
    RowRange range;
  };
  Part part(Rows rows) const;
  /// Returns the multiply-adds.
  std::uint64_t evaluate(Part& part) const;

  struct Work {
    std::uint64_t nodes = 0;  // of the last level that the rows stand for
    std::uint64_t terms = 0;
  };
  /// Terms [first, last), whose part is evaluated. Threads may call any of these at once.
  Work build(std::uint64_t first, std::uint64_t last, const Part& part, TermRows& rows) const;

 private:
  void describe(enumerate::SignatureId signature, std::uint32_t level, std::uint64_t output,
                const enumerate::TermId* arguments, std::size_t row, TermRows& rows) const;
  void known_row(enumerate::TermId t, std::size_t row, TermRows& rows) const;
  static void set_print(const OrbitPrint& print, std::size_t row, TermRows& rows);

  const LevelRunner& runner_;
  Dictionary dictionary_;
  std::vector<std::uint16_t> instance_;  // by signature
  std::uint32_t sizes_width_ = 1;
  std::uint64_t most_outputs_ = 1;
};

}  // namespace rulemill::fingerprint
