// Shards: the term table, divided into fixed blocks of term ids, one HDF5 file per block, and the dictionary of types,
// instances and variables. Columns, one row per term:
//   level, output, type, instance (dictionary), node, arguments (term ids), sizes (size parameters)
//   orbit        the representative of the term's orbit; the term itself for a representative
// Columns of the orbit:
//   images       number of nodes that result from renaming the variables of the term's node
//   fingerprint  2 words: the minimum over the term's renamings
//   renaming     number of the first renaming with the minimum; see enumerate/terms/renaming.h
//   values       number of distinct fingerprints of the renamings
//   symmetries   bit r: renaming r also has the minimum, but results in another node
// Levels up to last - 2 have all renamings of their terms; later levels have one term per orbit. A variable has no node
// and no instance, and unused arguments and sizes have no value: all bits are set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "enumerate/levels/enumerator.h"
#include "execute/cpu/executor.h"
#include "runtime/files/table_file.h"
#include "runtime/text/attributes.h"

namespace rulemill::fingerprint {

inline constexpr std::uint16_t no_instance = 0xffff;
inline const runtime::TableSchema shard_schema{"rulemill terms", 3};

/// The rows of a shard, by column.
struct ShardRows {
  std::uint64_t first = 0;  // term id of row 0
  std::uint32_t arguments_width = 1;
  std::uint32_t sizes_width = 1;
  std::vector<std::uint8_t> level, output;
  std::vector<std::uint16_t> type, instance;
  std::vector<std::uint32_t> node, arguments, sizes, orbit, orbit_size, renaming, distinct_values;
  std::vector<std::uint64_t> fingerprint;  // high, low
  std::vector<std::uint64_t> symmetries;

  std::size_t size() const { return level.size(); }
  void resize(std::size_t rows);
};

/// The types, operator instances and variables that shards refer to by number.
struct Dictionary {
  struct InstanceRecord {
    std::string name;
    algebra::Parameters parameters;
    std::vector<std::uint32_t> ranks;  // as for Library::instantiate
    /// Returns a text that identifies the instance.
    std::string key() const;
  };
  std::vector<enumerate::Dims> types;
  std::vector<std::uint32_t> degrees;  // by type: maximum degree of its terms as polynomials in the variables
  std::vector<InstanceRecord> instances;
  std::vector<std::string> variables;  // term id = index

  std::string to_json() const;
  /// Throws InputError naming `origin`.
  static Dictionary parse(const std::string& json, const std::string& origin);
};

inline constexpr const char* dictionary_file = "shards/dictionary.json";
std::string shard_name(std::uint64_t index);
/// Returns the rows per shard, a power of two that depends on the total only.
std::uint64_t rows_per_shard(std::uint64_t total);

runtime::TableSummary write_shard(const std::filesystem::path& path, const ShardRows& rows,
                                  const runtime::Attributes& provenance);
/// Terms: without their numbers of renamings and of values, and without fingerprints. Fingerprints: what a join reads
/// first, which are fingerprints, types, orbits, and their numbers of values and symmetries. Other columns stay empty.
enum class ShardColumns : std::uint8_t { All, Terms, Fingerprints };
ShardRows read_shard(const std::filesystem::path& path, const std::string& expected_digest,
                     ShardColumns columns = ShardColumns::All);

}  // namespace rulemill::fingerprint
