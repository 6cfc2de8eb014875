// Makes shards, shared by the ranks: whole ones are handed out on demand, and the last few are evaluated in pieces, so
// that ranks end together however few shards there are. The bytes do not depend on who made what.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "fingerprint/shard_builder.h"
#include "runtime/json_report.h"
#include "runtime/manifest.h"
#include "runtime/progress.h"
#include "runtime/stopwatch.h"

namespace rulemill::fingerprint {

class ShardWriter {
 public:
  struct Table {
    std::filesystem::path out;
    std::uint64_t rows = 0, rows_each = 0;  // of all shards, of one
    runtime::Attributes provenance;
  };
  /// `manifest` lists what is made; the first rank alone has one.
  ShardWriter(Table table, const ShardBuilder& builder, const runtime::Workers& workers,
              const runtime::Communicator& communicator, runtime::Manifest* manifest);

  /// Collective. `divisible`: whether evaluating a shard in pieces takes no longer. Throws Interrupted; what is done is
  /// listed.
  void write(const std::vector<std::uint64_t>& shards, bool divisible, runtime::Progress& progress);

  /// Seconds that this rank has spent in writing files.
  double seconds() const { return seconds_; }

 private:
  /// Some rows of a shard's part.
  struct Piece {
    std::size_t shard = 0;  // place in the list of those in pieces
    ShardBuilder::Rows rows;
  };
  std::uint64_t first_term(std::uint64_t shard) const { return shard * table_.rows_each; }
  std::uint64_t end_term(std::uint64_t shard) const;
  std::vector<Piece> pieces_of(const std::vector<std::uint64_t>& shards) const;
  void make_whole(std::uint64_t shard);
  void make_piece(const Piece& piece);
  /// Collective: from the pieces that all ranks have made.
  void assemble(const std::vector<std::uint64_t>& shards);
  void make_of_pieces(std::uint64_t shard, const std::vector<runtime::ByteView>& pieces);
  void finish(std::uint64_t shard, const ShardBuilder::Part& part, std::uint64_t products);
  /// What was made since the last call, as text.
  std::string news();
  void list(std::string_view news, runtime::Progress& progress);
  void save();

  Table table_;
  const ShardBuilder& builder_;
  const runtime::Workers& workers_;
  const runtime::Communicator& communicator_;
  runtime::Manifest* manifest_;
  std::mutex one_writer_;                       // HDF5 works for one thread at a time
  std::mutex one_of_made_;                      // guards the two below
  runtime::Json made_;                          // shards not told of yet
  std::map<std::size_t, runtime::Bytes> done_;  // pieces, by shard
  runtime::Stopwatch since_save_;
  double seconds_ = 0;
};

}  // namespace rulemill::fingerprint
