// Writes the shards, distributed over the ranks on demand. The last few shards are evaluated in chunks, so that all
// ranks finish at about the same time. The bytes do not depend on the distribution.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "fingerprint/level_runner.h"
#include "fingerprint/shards.h"
#include "runtime/files/manifest.h"
#include "runtime/process/progress.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/json.h"

namespace rulemill::fingerprint {

/// Builds the rows of shards and the dictionary from the results of a level runner. The bytes do not depend on ranks.
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

class ShardWriter {
 public:
  struct Table {
    std::filesystem::path out;
    std::uint64_t rows = 0, rows_per_shard = 0;  // of all shards, of one
    runtime::Attributes provenance;
  };
  /// `manifest` lists the files; null on all ranks but the first.
  ShardWriter(Table table, const ShardBuilder& builder, const runtime::ThreadPool& thread_pool,
              const runtime::Communicator& communicator, runtime::Manifest* manifest);

  /// Collective. `divisible`: evaluating a shard in chunks takes no longer than at once. Throws Interrupted after
  /// listing the finished shards.
  void write(const std::vector<std::uint64_t>& shards, bool divisible, runtime::Progress& progress);

  /// Seconds that this rank has spent writing files.
  double seconds() const { return seconds_; }

 private:
  /// A part of the rows of a shard.
  struct ShardChunk {
    std::size_t shard = 0;  // index among the shards that are evaluated in chunks
    ShardBuilder::RowInterval rows;
  };
  std::uint64_t first_term(std::uint64_t shard) const { return shard * table_.rows_per_shard; }
  std::uint64_t end_term(std::uint64_t shard) const;
  std::vector<ShardChunk> chunks_of(const std::vector<std::uint64_t>& shards) const;
  void make_shard(std::uint64_t shard);
  void evaluate_chunk(const ShardChunk& chunk);
  /// Collective: makes the shards from the chunks of all ranks.
  void assemble(const std::vector<std::uint64_t>& shards);
  void make_shard_from_chunks(std::uint64_t shard, const std::vector<runtime::ByteView>& chunks);
  void write_shard_file(std::uint64_t shard, const ShardBuilder::Chunk& evaluated, std::uint64_t products);
  /// Returns the shards written since the last call, as JSON; empty if none.
  std::string take_written();
  /// Adds such shards to the manifest.
  void list(std::string_view written, runtime::Progress& progress);
  void save();

  Table table_;
  const ShardBuilder& builder_;
  const runtime::ThreadPool& thread_pool_;
  const runtime::Communicator& communicator_;
  runtime::Manifest* manifest_;
  std::mutex results_mutex_;                      // guards written_ and chunks_
  runtime::Json written_;                         // shards that take_written() has not returned yet
  std::map<std::size_t, runtime::Bytes> chunks_;  // results by shard
  runtime::Stopwatch since_save_;
  double seconds_ = 0;
};

}  // namespace rulemill::fingerprint
