// Access to the term table. Every node holds the rows of the levels below the last; rows of the last level are fetched
// from the ranks that own their shards. The representative of an orbit represents all its renamings.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "enumerate/terms/renaming.h"
#include "fingerprint/run.h"
#include "fingerprint/shards.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/node_memory.h"

namespace rulemill::dedup {

using TermId = std::uint32_t;
inline constexpr std::uint32_t no_id = enumerate::no_id;

/// One term. Unused arguments and sizes are no_id.
struct TermRow {
  static constexpr std::size_t max_arguments = enumerate::max_arity;
  static constexpr std::size_t max_sizes = 8;
  std::uint32_t node = no_id;
  std::uint16_t instance = fingerprint::no_instance;
  std::uint16_t type = 0;
  std::uint8_t output = 0;
  std::uint8_t level = 0;
  std::uint16_t padding = 0;
  std::uint32_t orbit = no_id;
  std::uint32_t renaming = 0;
  std::uint32_t variables = 0;  // bit v: variable v occurs; 0: not computed, or there are variables above 31
  std::uint64_t symmetries = 0;
  std::array<std::uint32_t, max_arguments> arguments{};
  std::array<std::uint32_t, max_sizes> sizes{};
};

/// The fingerprint of an orbit's representative.
struct FingerprintRecord {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  TermId term = 0;
  std::uint32_t distinct_values = 0;  // of the term's renamings
  std::uint16_t type = 0;
  bool symmetric = false;  // a renaming of the term is a different node with the same value
};

/// A term with renamed variables. First `renaming` of the term's variables is applied, then the inverse of
/// `inverse_renaming` of the variables of `inverse_term`.
struct RenamedTerm {
  TermId term = no_id;
  std::uint32_t renaming = 0;
  TermId inverse_term = no_id;
  std::uint32_t inverse_renaming = 0;
};

class TermRows {
 public:
  /// Collective. `summary` is that of the fingerprint stage.
  TermRows(const std::filesystem::path& out, const std::string& digest, const fingerprint::Summary& summary,
           const enumerate::Renamings& renamings, const runtime::Communicator& communicator);

  const fingerprint::Dictionary& dictionary() const { return dictionary_; }
  std::uint64_t rows() const { return summary_.rows; }
  /// Returns the memory of a rank for the rows below the last level, which `ranks_per_node` ranks share, and for the
  /// index of the last level.
  static std::uint64_t resident_bytes(const fingerprint::Summary& summary, int ranks_per_node);
  /// Returns the first term of a level; rows() for the level after the last.
  std::uint64_t first_of_level(std::size_t level) const { return first_of_level_[level]; }
  std::uint32_t level(TermId t) const;
  std::size_t last_level() const { return first_of_level_.size() - 2; }

  /// Reads the records of this rank's shards in id order: one of each orbit whose fingerprint is in the partition.
  /// Returns early after an interrupt.
  std::vector<FingerprintRecord> records(std::uint64_t partition, std::uint64_t partitions) const;

  /// Collective. Makes row(t) available for these terms; their subterms always are.
  void fetch(std::vector<TermId> terms);
  /// Frees the fetched rows.
  void clear_fetched();
  /// Returns the variables that occur in the term.
  enumerate::VariableSet variables(TermId t) const { return variables(t, row(t)); }
  /// Maps the variables of a term to those of a renamed term.
  class VariableMap {
   public:
    std::uint8_t operator()(std::uint8_t variable) const;

   private:
    friend class TermRows;
    const std::vector<enumerate::Renamings::Swap>* swaps_ = nullptr;
    std::span<const std::uint8_t> forward_, inverse_;
  };
  VariableMap variable_map(const RenamedTerm& renamed) const;
  const TermRow& row(TermId t) const {
    return t < lower_levels_.size() ? lower_levels_[t] : fetched_[fetched_index_[t - lower_levels_.size()]];
  }

 private:
  /// Collective.
  void read_lower_levels();
  enumerate::VariableSet variables(TermId t, const TermRow& row) const;
  void store_variables(TermId t, TermRow& row) const;
  TermRow row_at(const fingerprint::ShardRows& rows, std::size_t i) const;
  int owner(std::uint64_t shard) const;
  fingerprint::ShardRows read(std::uint64_t shard) const;

  std::filesystem::path out_;
  std::string digest_;
  fingerprint::Summary summary_;
  const enumerate::Renamings& renamings_;
  const runtime::Communicator& communicator_;
  fingerprint::Dictionary dictionary_;
  std::uint64_t rows_per_shard_ = 0;
  std::vector<std::uint64_t> first_of_level_;
  runtime::NodeMemory lower_levels_memory_;
  std::span<const TermRow> lower_levels_;     // shared by the ranks of a node
  std::vector<std::uint32_t> fetched_index_;  // by term of the last level: index in fetched_; no_id: not fetched
  std::vector<TermRow> fetched_;
};

}  // namespace rulemill::dedup
