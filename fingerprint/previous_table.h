// The term table of the previous run, whose profile had other operators. A row is identified by its operator instance
// and its arguments; if the definition, the variables and the seed are unchanged, its values are unchanged, too. The
// last level copies such rows and evaluates the new ones. The table that results does not depend on what was copied.
#pragma once

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fingerprint/level_runner.h"
#include "fingerprint/shards.h"
#include "fingerprint/summary.h"

namespace rulemill::fingerprint {

/// Subfolder of the output folder with the archived shards and their manifest.
inline constexpr const char* previous_folder = "previous";

/// Moves the folder's finished table to `previous_folder`. Without one, an archived table stays.
void archive_table(const std::filesystem::path& out);

class PreviousTable final : public RowSource {
 public:
  /// Collective. Opens the table in `folder`; null if there is none or if the seed, the variables, the number of
  /// operators or the program differ. The runner's last level has begun.
  static std::unique_ptr<PreviousTable> open(const std::filesystem::path& folder, const enumerate::Profile& profile,
                                             const algebra::Library& library, const LevelRunner& runner,
                                             const runtime::Communicator& communicator);

  /// Number of nodes whose rows were copied.
  std::uint64_t rows_reused() const { return rows_reused_; }

  std::unique_ptr<enumerate::NodeSink> reuse_rows(enumerate::NodeSink& next, EvaluatedRows& rows) const override;

 private:
  class RowReuser;
  struct Header {
    std::string digest;  // of the inputs of its shards
    Summary summary;
    Dictionary dictionary;
    std::vector<bool> unchanged;  // by operator instance: its definition is unchanged
  };
  /// Rows [first, first + count) of the last level, which have this primary argument.
  struct PrimaryRows {
    enumerate::TermId primary = 0;
    std::uint32_t count = 0;
    std::uint64_t first = 0;
  };

  PreviousTable(std::filesystem::path folder, const LevelRunner& runner, Header header);
  static std::optional<Header> read_header(const std::filesystem::path& folder, const enumerate::Profile& profile,
                                           const algebra::Library& library, std::uint32_t max_ops);
  void match_instances();
  /// Maps the terms of this run to those of the table. False if the table cannot be read.
  bool match_terms();
  void index_rows_by_primary(const runtime::Communicator& communicator);
  /// Reads a shard. Null if it is damaged; warns once.
  std::shared_ptr<const ShardRows> read(std::uint64_t shard) const;
  /// Returns the primary argument of a row, in the table's ids; see enumerate/levels/walker.h.
  enumerate::TermId primary_of(std::span<const std::uint32_t> arguments) const;

  std::filesystem::path folder_;
  const LevelRunner& runner_;
  Header header_;
  std::uint64_t rows_per_shard_ = 0;
  std::uint64_t lower_rows_ = 0;                 // rows below the last level
  std::vector<std::uint32_t> orbit_;             // by row below the last level
  std::vector<std::uint8_t> level_;              // by row below the last level
  std::vector<std::uint16_t> instance_;          // by signature: the table's number, or no_instance
  std::vector<enumerate::TermId> previous_ids_;  // by term of this run: the table's id, or no_id
  std::vector<PrimaryRows> rows_by_primary_;     // of all ranks, sorted by primary
  mutable std::atomic<bool> warned_{false};
  mutable std::atomic<std::uint64_t> rows_reused_{0};
};

class PreviousTable::RowReuser final : public enumerate::NodeSink {
 public:
  RowReuser(const PreviousTable& table, enumerate::NodeSink& next, EvaluatedRows& rows)
      : table_(table), next_(next), rows_(rows) {}

  void add_node(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments,
                std::uint64_t row) override;

 private:
  struct RowPosition {
    std::shared_ptr<const ShardRows> rows;
    std::size_t at = 0;
  };
  void load_primary(enumerate::TermId primary);
  std::shared_ptr<const ShardRows> shard(std::uint64_t number);
  bool copy_row(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments, std::uint64_t row);

  const PreviousTable& table_;
  enumerate::NodeSink& next_;
  EvaluatedRows& rows_;
  enumerate::TermId primary_ = enumerate::no_id;
  std::unordered_map<std::uint64_t, RowPosition> rows_of_primary_;  // by hash of its row key
  std::array<std::pair<std::uint64_t, std::shared_ptr<const ShardRows>>, 2> shards_;
  std::size_t oldest_ = 0;
};

}  // namespace rulemill::fingerprint
