// Shards: the table of all terms, cut into fixed blocks of term ids, one HDF5 file a block, and the dictionary that
// says what type, instance and variable numbers mean. Columns, one row a term:
//   level, output, type, instance (dictionary), node, arguments (term ids), sizes (size parameters), fingerprint (2
//   words)
// A variable has no node and no instance (all bits set); unused arguments and sizes are all bits set, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "enumerate/enumerator.h"
#include "fingerprint/executor.h"
#include "runtime/attributes.h"
#include "runtime/table_file.h"

namespace rulemill::fingerprint {

inline constexpr std::uint16_t no_instance = 0xffff;
inline const runtime::TableSchema shard_schema{"rulemill terms", 1};

/// Rows of a shard, as columns.
struct TermRows {
  std::uint64_t first = 0;  // term id of row 0
  std::uint32_t arguments_width = 1;
  std::uint32_t sizes_width = 1;
  std::vector<std::uint8_t> level, output;
  std::vector<std::uint16_t> type, instance;
  std::vector<std::uint32_t> node, arguments, sizes;
  std::vector<std::uint64_t> fingerprint;  // high, low

  std::size_t size() const { return level.size(); }
  void resize(std::size_t rows);
};

/// What the numbers in shards mean.
struct Dictionary {
  struct InstanceEntry {
    std::string name;
    algebra::Parameters parameters;
    std::vector<std::uint32_t> ranks;  // as Library::instantiate takes them
  };
  std::vector<enumerate::Dims> types;
  std::vector<std::uint32_t> degrees;  // by type: largest degree of a term as a polynomial in the variables
  std::vector<InstanceEntry> instances;
  std::vector<std::string> variables;  // term id = place

  std::string to_json() const;
  /// Throws InputError naming `origin`.
  static Dictionary parse(const std::string& json, const std::string& origin);
  static Dictionary load(const std::filesystem::path& file);
};

std::string shard_name(std::uint64_t index);
/// Rows a shard: a power of two that depends on the total alone.
std::uint64_t shard_rows(std::uint64_t total);

runtime::TableSummary write_shard(const std::filesystem::path& path, const TermRows& rows,
                                  const runtime::Attributes& provenance);
TermRows read_shard(const std::filesystem::path& path, const std::string& expected_digest);

}  // namespace rulemill::fingerprint
