// The fingerprint stage: from a profile to shards. Every rank completes the levels below the last by itself; the table
// of all terms is cut into shards by term id, and ranks take blocks of shards. Files and bytes do not depend on the
// number of ranks or threads. Shards that the manifest already lists are not made again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fingerprint/summary.h"
#include "runtime/communicator.h"
#include "runtime/progress.h"

namespace rulemill::fingerprint {

struct RunOptions {
  std::uint32_t max_ops = 0;    // 0: the profile's
  unsigned threads = 0;         // 0: all cores of the rank
  bool all_terms = false;       // extend every term, not only one of each class
  bool every_renaming = false;  // take no two variables for each other
  std::uint64_t memory = 0;     // bytes that a rank may use; 0: no limit
  DeviceChoice device = DeviceChoice::Auto;
  std::string build = "rulemill";
  runtime::ProgressMode progress = runtime::ProgressMode::Off;
};

/// Digest of all that the shards depend on.
std::string inputs_digest(const enumerate::Profile& profile, const algebra::Library& library, std::uint32_t max_ops,
                          bool all_terms, bool every_renaming);

/// Collective. The same summary on every rank.
Summary run(const enumerate::Profile& profile, algebra::Library& library, const std::filesystem::path& out,
            const runtime::Communicator& communicator, const RunOptions& options);

}  // namespace rulemill::fingerprint
