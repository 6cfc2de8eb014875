// The fingerprint stage: from a profile to shards. Every rank completes the levels below the last by itself; the table
// of all terms is cut into shards by term id, and ranks take blocks of shards. Files and bytes do not depend on the
// number of ranks or threads. Shards that the manifest already lists are not made again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fingerprint/level_runner.h"
#include "runtime/communicator.h"
#include "runtime/progress.h"

namespace rulemill::fingerprint {

struct RunOptions {
  std::uint32_t max_ops = 0;  // 0: the profile's
  unsigned threads = 0;       // 0: all cores of the rank
  bool all_terms = false;     // extend every term, not only one of each class
  DeviceChoice device = DeviceChoice::Auto;
  std::string build = "rulemill";
  runtime::ProgressMode progress = runtime::ProgressMode::Off;
};

struct Summary {
  bool already_done = false;
  std::uint32_t max_ops = 0;
  std::vector<LevelFigures> levels;   // from the variables, level 0
  std::vector<std::uint64_t> graphs;  // [k]: closed sets of exactly k nodes; as far as a formula is known
  std::uint64_t terms = 0;            // with the variables
  std::uint64_t shards = 0;
  std::uint64_t shard_bytes = 0;
  std::uint64_t value_bytes = 0;  // values of the levels below the last, per rank
  std::string backend;            // "cpu avx512", "cuda NVIDIA …"
  double seconds = 0;
};

inline constexpr const char* fingerprint_stage = "fingerprint";

/// Digest of all that the shards depend on.
std::string inputs_digest(const enumerate::Profile& profile, const algebra::Library& library, std::uint32_t max_ops,
                          bool all_terms);

/// Collective. The same summary on every rank.
Summary run(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
            const runtime::Communicator& communicator, const RunOptions& options);

}  // namespace rulemill::fingerprint
