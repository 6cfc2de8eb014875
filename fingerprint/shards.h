// Shards: the table of all terms, cut into fixed blocks of term ids, one HDF5 file a block, and the dictionary that
// says what type, instance and variable numbers mean. Columns, one row a term:
//   level, output, type, instance (dictionary), node, arguments (term ids), sizes (size parameters)
//   orbit: the term that this one is a renaming of; itself, if that is the term itself. The columns below are the
//   orbit's images: nodes that renaming the variables of the term's node makes of it fingerprint (2 words): the
//   smallest among those of the term's renamings renaming: the number of the first renaming that has it, see
//   enumerate/renaming.h values: how many different fingerprints the renamings have symmetries: bit r: renaming r has
//   it, too, and makes another node
// Up to the last level but two, terms are there under all names; of the levels above, one term of each orbit. A
// variable has no node and no instance (all bits set); unused arguments and sizes are all bits set, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "enumerate/enumerator.h"
#include "execute/executor.h"
#include "runtime/attributes.h"
#include "runtime/table_file.h"

namespace rulemill::fingerprint {

inline constexpr std::uint16_t no_instance = 0xffff;
inline const runtime::TableSchema shard_schema{"rulemill terms", 2};

/// Rows of a shard, as columns.
struct TermRows {
  std::uint64_t first = 0;  // term id of row 0
  std::uint32_t arguments_width = 1;
  std::uint32_t sizes_width = 1;
  std::vector<std::uint8_t> level, output;
  std::vector<std::uint16_t> type, instance;
  std::vector<std::uint32_t> node, arguments, sizes, orbit, images, renaming, values;
  std::vector<std::uint64_t> fingerprint;  // high, low
  std::vector<std::uint64_t> symmetries;

  std::size_t size() const { return level.size(); }
  void resize(std::size_t rows);
};

/// What the numbers in shards mean.
struct Dictionary {
  struct InstanceEntry {
    std::string name;
    algebra::Parameters parameters;
    std::vector<std::uint32_t> ranks;  // as Library::instantiate takes them
    /// Says all of it.
    std::string in_words() const;
  };
  std::vector<enumerate::Dims> types;
  std::vector<std::uint32_t> degrees;  // by type: largest degree of a term as a polynomial in the variables
  std::vector<InstanceEntry> instances;
  std::vector<std::string> variables;  // term id = place

  std::string to_json() const;
  /// Throws InputError naming `origin`.
  static Dictionary parse(const std::string& json, const std::string& origin);
};

inline constexpr const char* dictionary_file = "shards/dictionary.json";
std::string shard_name(std::uint64_t index);
/// Rows a shard: a power of two that depends on the total alone.
std::uint64_t shard_rows(std::uint64_t total);

runtime::TableSummary write_shard(const std::filesystem::path& path, const TermRows& rows,
                                  const runtime::Attributes& provenance);
TermRows read_shard(const std::filesystem::path& path, const std::string& expected_digest);

/// What a join needs of a shard's terms.
struct FingerprintRows {
  std::uint64_t first = 0;
  std::vector<std::uint16_t> type;
  std::vector<std::uint32_t> orbit, values;
  std::vector<std::uint64_t> symmetries;
  std::vector<std::uint64_t> fingerprint;  // high, low
};
FingerprintRows read_fingerprints(const std::filesystem::path& path, const std::string& expected_digest);

}  // namespace rulemill::fingerprint
