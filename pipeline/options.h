// The options of a discovery run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "dedup/join/join.h"
#include "fingerprint/run.h"
#include "prove/distributed/worker_process.h"
#include "prove/generalize_rules.h"
#include "runtime/process/progress.h"

namespace rulemill::pipeline {

struct Options {
  std::filesystem::path profile;      // a profile, or a folder of profiles
  std::filesystem::path definitions;  // folder of *.op
  std::filesystem::path out;
  std::optional<std::uint64_t> seed;     // instead of the profile's
  std::optional<std::uint32_t> max_ops;  // instead of the profile's
  bool fresh = false;                    // discard what the output folder has
  unsigned threads = 0;                  // per rank; 0: all cores of the rank
  std::uint64_t memory = 0;              // bytes per rank; 0: no limit
  bool extend_all_terms = false;         // not only one term of each class
  bool no_symmetry = false;              // no two variables are interchangeable
  std::uint64_t checkpoint_rows = dedup::default_checkpoint_rows;
  fingerprint::DeviceChoice device = fingerprint::DeviceChoice::Auto;
  prove::WorkerProcessOptions workers;  // the stage sets their number, seed and pool
  prove::GeneralizedTier generalized = prove::GeneralizedTier::Core;
  bool cross_check = false;  // prove derived rules from the definitions, too
  std::string build;         // version of the program
  runtime::ProgressMode progress = runtime::ProgressMode::Off;
};

}  // namespace rulemill::pipeline
