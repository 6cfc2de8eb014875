// The table of terms of the run before, on other operators. A row is known by what it is: an operator instance, whose
// definition is the same, applied to terms that this run has, too. What it says follows from that, from the variables
// and from the seed: so the last level takes from it what it has, and evaluates what is new. The rows and their order
// are this run's own, whatever was there before.
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

/// Below the output folder: the shards that were put aside, with the manifest that lists them.
inline constexpr const char* earlier_folder = "earlier";

/// Puts the folder's finished table aside for the next run. Without one, a table that lies aside stays there.
void put_table_aside(const std::filesystem::path& out);

class EarlierTable {
 public:
  /// Collective. The table in `folder`, if rows of it mean the same here; null if there is none, or seed, variables,
  /// number of operators or program are others. The runner's last level has begun.
  static std::unique_ptr<EarlierTable> open(const std::filesystem::path& folder, const enumerate::Profile& profile,
                                            const algebra::Library& library, const LevelRunner& runner,
                                            const runtime::Communicator& communicator);

  /// Rows that were taken so far.
  std::uint64_t taken() const { return taken_; }

  /// Sets in `rows` the nodes that the table has, and hands on the others. One thread's.
  class Reader;

 private:
  struct Heading {
    std::string digest;  // of the inputs that its shards were made from
    Summary summary;
    Dictionary dictionary;
    std::vector<bool> same;  // by instance: its definition is what it was
  };
  /// Rows [first, first + count) of the last level have this primary.
  struct Unit {
    enumerate::TermId primary = 0;
    std::uint32_t count = 0;
    std::uint64_t first = 0;
  };

  EarlierTable(std::filesystem::path folder, const LevelRunner& runner, Heading heading);
  static std::optional<Heading> read_heading(const std::filesystem::path& folder, const enumerate::Profile& profile,
                                             const algebra::Library& library, std::uint32_t max_ops);
  void match_instances();
  /// Terms of levels below the last. False if they cannot be read.
  bool match_terms();
  void find_units(const runtime::Communicator& communicator);
  /// A shard's rows; null if it is damaged, which is said once.
  std::shared_ptr<const TermRows> read(std::uint64_t shard) const;
  /// The primary, in the table's numbers, of a row with these arguments: see enumerate/walker.h.
  enumerate::TermId primary_of(std::span<const std::uint32_t> arguments) const;

  std::filesystem::path folder_;
  const LevelRunner& runner_;
  Heading heading_;
  std::uint64_t rows_each_ = 0;
  std::uint64_t known_ = 0;               // rows below the last level
  std::vector<std::uint32_t> orbit_;      // of these
  std::vector<std::uint8_t> level_;       // likewise
  std::vector<std::uint16_t> instance_;   // by signature: the table's number; no_instance: it has none
  std::vector<enumerate::TermId> there_;  // by term of this run: the table's
  std::vector<Unit> units_;               // of all ranks, by primary
  mutable std::atomic<bool> warned_{false};
  mutable std::atomic<std::uint64_t> taken_{0};
};

class EarlierTable::Reader final : public enumerate::NodeSink {
 public:
  Reader(const EarlierTable& table, enumerate::NodeSink& next, RowRange& rows)
      : table_(table), next_(next), rows_(rows) {}

  void node(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments, std::uint64_t row) override;

 private:
  struct Place {
    std::shared_ptr<const TermRows> rows;
    std::size_t at = 0;
  };
  void load(enumerate::TermId primary);
  std::shared_ptr<const TermRows> shard(std::uint64_t number);
  bool take(enumerate::SignatureId signature, std::span<const enumerate::TermId> arguments, std::uint64_t row);

  const EarlierTable& table_;
  enumerate::NodeSink& next_;
  RowRange& rows_;
  enumerate::TermId primary_ = enumerate::no_id;
  std::unordered_map<std::uint64_t, Place> unit_;  // by hash of what the row is
  std::array<std::pair<std::uint64_t, std::shared_ptr<const TermRows>>, 2> shards_;
  std::size_t oldest_ = 0;
};

}  // namespace rulemill::fingerprint
