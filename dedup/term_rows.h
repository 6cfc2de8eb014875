// Access to the table of all terms: the levels below the last are held by every node, rows of the last level are
// fetched from the ranks that hold their shards. A term stands for its renamings; an occurrence is one of these.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "enumerate/renaming.h"
#include "fingerprint/run.h"
#include "fingerprint/shards.h"
#include "runtime/communicator.h"
#include "runtime/node_memory.h"

namespace rulemill::dedup {

using TermId = std::uint32_t;
inline constexpr std::uint32_t no_id = enumerate::no_id;

/// What one term is. Unused places are no_id.
struct TermRow {
  static constexpr std::size_t most_arguments = enumerate::max_arity;
  static constexpr std::size_t most_sizes = 8;
  std::uint32_t node = no_id;
  std::uint16_t instance = fingerprint::no_instance;
  std::uint16_t type = 0;
  std::uint8_t output = 0;
  std::uint8_t level = 0;
  std::uint16_t padding = 0;
  std::uint32_t orbit = no_id;
  std::uint32_t renaming = 0;
  std::uint32_t variables = 0;  // the first 32 variables below it, if it has no others; 0: they are to be found
  std::uint64_t symmetries = 0;
  std::array<std::uint32_t, most_arguments> arguments{};
  std::array<std::uint32_t, most_sizes> sizes{};
};

/// What sorting needs of an orbit's term.
struct FingerprintRecord {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  TermId term = 0;
  std::uint32_t values = 0;
  std::uint16_t type = 0;
  bool symmetric = false;  // some renaming of it, another node, has its value
};

/// A term with its variables renamed: by `renaming`, and then back by one of another term's.
struct Occurrence {
  TermId term = no_id;
  std::uint32_t renaming = 0;
  TermId back = no_id;
  std::uint32_t back_renaming = 0;
};

class TermRows {
 public:
  /// Collective. `summary` is the fingerprint stage's.
  TermRows(const std::filesystem::path& out, const std::string& digest, const fingerprint::Summary& summary,
           const enumerate::Renamings& renamings, const runtime::Communicator& communicator);

  const fingerprint::Dictionary& dictionary() const { return dictionary_; }
  std::uint64_t rows() const { return summary_.rows; }
  /// What a rank holds of the table beside its share of it: the rows below the last level, which `sharing` ranks have
  /// once, and where those of the last level are once fetched.
  static std::uint64_t held_bytes(const fingerprint::Summary& summary, int sharing);
  /// First term of a level; rows() for the one after the last.
  std::uint64_t first_of_level(std::size_t level) const { return first_of_level_[level]; }
  std::uint32_t level(TermId t) const;
  std::size_t last_level() const { return first_of_level_.size() - 2; }

  /// Records of this rank's shards, in id order: one of each orbit whose fingerprint lies in part `part` of `parts`.
  /// Left early if this process is told to stop.
  std::vector<FingerprintRecord> records(std::uint64_t part, std::uint64_t parts) const;

  /// Collective: makes row(t) work for these terms and every term below them.
  void fetch(std::vector<TermId> wanted);
  /// Rows that were fetched are no longer at hand.
  void forget();
  /// Variables below the term.
  enumerate::VariableSet variables(TermId t) const { return variables(t, row(t)); }
  /// What the variables of the term are called in the occurrence.
  class Names {
   public:
    std::uint8_t of(std::uint8_t variable) const;

   private:
    friend class TermRows;
    const std::vector<enumerate::Renamings::Swap>* swaps_ = nullptr;
    std::span<const std::uint8_t> there_, back_;
  };
  Names names(const Occurrence& occurrence) const;
  const TermRow& row(TermId t) const { return t < known_.size() ? known_[t] : fetched_[place_[t - known_.size()]]; }

 private:
  /// Collective.
  void read_known();
  enumerate::VariableSet variables(TermId t, const TermRow& row) const;
  void note_variables(TermId t, TermRow& row) const;
  TermRow row_at(const fingerprint::TermRows& rows, std::size_t i) const;
  int owner(std::uint64_t shard) const;
  fingerprint::TermRows read(std::uint64_t shard) const;

  std::filesystem::path out_;
  std::string digest_;
  fingerprint::Summary summary_;
  const enumerate::Renamings& renamings_;
  const runtime::Communicator& communicator_;
  fingerprint::Dictionary dictionary_;
  std::uint64_t rows_each_ = 0;
  std::vector<std::uint64_t> first_of_level_;
  runtime::NodeMemory known_memory_;
  std::span<const TermRow> known_;    // levels below the last, once for the ranks of a node
  std::vector<std::uint32_t> place_;  // by term of the last level: in fetched_; no_id: not fetched
  std::vector<TermRow> fetched_;
};

}  // namespace rulemill::dedup
