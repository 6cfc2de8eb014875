// The summary of the fingerprint stage, as stored in the manifest and sent between ranks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fingerprint/level_runner.h"
#include "runtime/text/attributes.h"

namespace rulemill::fingerprint {

struct Summary {
  bool already_done = false;
  std::uint32_t max_ops = 0;
  std::vector<LevelStatistics> levels;  // from level 0, the variables
  std::vector<std::uint64_t> graphs;    // [k]: graphs of exactly k nodes; shorter where no formula is known
  std::uint64_t terms = 0;              // including variables and all renamings
  std::uint64_t rows = 0;               // of the term table
  std::uint64_t shards = 0;
  std::uint64_t shard_bytes = 0;
  std::uint64_t value_bytes = 0;  // values of the levels below the last, per rank
  std::string backend;            // "cpu avx512", "cuda NVIDIA …"
  double seconds = 0;
  std::uint64_t rows_reused = 0;  // nodes of the last level copied from the previous run's table
  /// This rank's seconds by step; empty if the stage was already finished.
  std::vector<std::pair<std::string, double>> steps;
  /// Counters of this rank's GPU; empty without one.
  std::vector<std::pair<std::string, std::uint64_t>> gpu;
};

runtime::Attributes to_attributes(const Summary& summary);
/// The attribute with the digest of the program that wrote the table.
inline constexpr const char* program_attribute = "program";
/// Sets `already_done`. Throws InputError if the counts are inconsistent.
Summary summary_of(const runtime::Attributes& statistics);

}  // namespace rulemill::fingerprint
