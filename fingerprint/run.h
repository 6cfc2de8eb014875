// The fingerprint stage: from a profile to shards. Ranks share the evaluation of all levels. The term table is divided
// into shards by term id. Its bytes do not depend on the number of ranks or threads. Shards that the manifest lists
// are not written again.
#pragma once

#include <filesystem>
#include <string>

#include "fingerprint/summary.h"
#include "runtime/mpi/communicator.h"
#include "runtime/process/progress.h"

namespace rulemill::fingerprint {

struct RunOptions {
  std::uint32_t max_ops = 0;  // 0: the profile's
  unsigned threads = 0;       // 0: all cores of the rank
  bool all_terms = false;     // extend every term, not only one of each class
  bool no_symmetry = false;   // no two variables are interchangeable
  std::uint64_t memory = 0;   // bytes that a rank may use; 0: no limit
  DeviceChoice device = DeviceChoice::Auto;
  std::string build = "rulemill";
  runtime::ProgressMode progress = runtime::ProgressMode::Off;
};

/// Returns the digest of everything that determines the shards.
std::string inputs_digest(const enumerate::Profile& profile, const algebra::Library& library, std::uint32_t max_ops,
                          bool all_terms, bool no_symmetry);

/// Runs the stage, or reads its summary if it is finished. Collective; returns the same on every rank.
Summary run(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
            const runtime::Communicator& communicator, const RunOptions& options);

}  // namespace rulemill::fingerprint
