// What a discovery run reports while it runs. The caller formats and prints it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "dedup/join/join.h"
#include "fingerprint/run.h"
#include "prove/core/audit.h"
#include "prove/generalize_rules.h"
#include "prove/prune.h"

namespace rulemill::pipeline {

struct StageTime {
  std::string name;
  double seconds = 0;
  bool already_done = false;
  std::uint64_t cut_proofs = 0;  // by limits of time or memory; set at the end of the run, on the first rank
};

/// Counts after each step of a run, with the names of the steps.
using FunnelRows = std::vector<std::pair<std::string, std::uint64_t>>;

/// What begin() reports.
struct RunDescription {
  std::string profile;
  std::uint32_t max_ops = 0;
  int ranks = 1;
};

/// The result of a whole run.
struct RunSummary {
  std::vector<StageTime> stages;
  double seconds = 0;                   // of the stages that were not already done
  std::uint64_t peak_memory_bytes = 0;  // maximum over the ranks
  std::uint64_t peak_memory_bytes_of_all_ranks = 0;
  FunnelRows funnel;
};

/// Every rank calls every member, in the same order; per-rank statistics are those of the first rank only.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual void begin(const RunDescription& run) = 0;
  /// The inputs differ from those of the previous run in the folder. On the first rank only.
  virtual void inputs_changed(const std::string& changes) = 0;
  /// A stage ended. Its summary follows.
  virtual void stage_ended(const StageTime& stage) = 0;
  virtual void fingerprinted(const fingerprint::Summary& summary) = 0;
  virtual void joined(const dedup::Summary& summary) = 0;
  virtual void proved(const prove::ProveSummary& summary) = 0;
  /// Throws Error if a derived rule is false.
  virtual void cross_checked(const prove::CrossCheckReport& report,
                             const std::vector<prove::RankStatistics>& ranks) = 0;
  virtual void pruned(const prove::PruneSummary& summary) = 0;
  virtual void generalized(const prove::GeneralizeSummary& summary) = 0;
  virtual void ended(const RunSummary& summary) = 0;

  /// Of a folder of profiles: the observer of one profile's run, valid until its profile_ended().
  virtual Observer& begin_profile(const std::filesystem::path& profile) = 0;
  /// `candidates`: the last row of the profile's funnel.
  virtual void profile_ended(const std::filesystem::path& profile, const FunnelRows::value_type& candidates) = 0;
};

}  // namespace rulemill::pipeline
