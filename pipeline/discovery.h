// The stages of a run in one output folder, from definitions to rules. Finished stages are skipped. A folder of
// profiles has one such run per profile; another one proves and prunes the candidates of all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algebra/library/library.h"
#include "dedup/join/join.h"
#include "enumerate/profile/profile_components.h"
#include "fingerprint/run.h"
#include "prove/core/audit.h"
#include "prove/distributed/worker_process.h"
#include "prove/generalize_rules.h"
#include "prove/prune.h"
#include "runtime/files/atomic_file.h"
#include "runtime/mpi/communicator.h"
#include "runtime/process/progress.h"

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

/// Every member but part() is collective.
class Discovery {
 public:
  /// The run of one of several profiles, once its candidates are known.
  struct ProfileRun {
    std::filesystem::path folder;
    enumerate::InputComponents definitions;
    std::string name, digest;  // digest of all inputs
    std::uint64_t seed = 0;
    std::uint32_t max_ops = 0;
    std::vector<StageTime> times;
    FunnelRows funnel;
  };

  /// Loads definitions and profile and locks the output folder. All ranks throw if the first one cannot. The references
  /// must outlive the run.
  Discovery(const runtime::Communicator& world, const Options& options, Observer& observer);
  /// Proves and prunes the candidates of several profiles.
  Discovery(const runtime::Communicator& world, const Options& options, Observer& observer,
            const std::vector<ProfileRun>& profiles);
  ProfileRun profile_run() const;

  /// Compares the inputs with those that the folder's results were made from. If they differ and the stages
  /// `may_restart`, they do. Throws InputError otherwise.
  void check_inputs(bool may_restart);

  void fingerprint();
  void join();
  /// Writes the candidates of all profiles to one file.
  void merge_profiles();
  void prove();
  void prune();
  void generalize();
  /// Reports times, peak memory and funnel, and writes funnel.json.
  void write_summary();

  /// Throws InputError unless the manifest lists the stage as finished.
  void require_finished(const std::string& stage) const;

 private:
  enumerate::InputComponents inputs() const;
  void begin();
  void add(const ProfileRun& profile);
  void open_log();
  /// Returns a digest of the candidates and of the definitions they use.
  std::string candidates_digest() const;
  prove::ProofStageOptions proof_options() const;
  void end_stage(const std::string& name, double seconds, bool already_done);
  /// Proves every derived candidate from the definitions, too.
  void cross_check();
  void log_tasks(const char* stage, const std::vector<prove::RankStatistics>& ranks) const;

  const runtime::Communicator& world_;
  Options options_;
  Observer& observer_;
  std::shared_ptr<prove::IdleWorkers> idle_workers_ = std::make_shared<prove::IdleWorkers>();
  algebra::Library library_;
  enumerate::Profile profile_;                  // of several profiles: only name, digest, seed and max_ops
  enumerate::InputComponents definitions_;      // of all profiles
  enumerate::InputComponents profile_digests_;  // of several profiles, by name
  std::vector<std::filesystem::path> folders_;  // of several profiles
  std::unique_ptr<runtime::FolderLock> lock_;   // on the first rank
  fingerprint::Summary fingerprints_;
  runtime::Communicator::Traffic traffic_;  // when the last stage ended
  std::vector<StageTime> times_;
  FunnelRows funnel_;
  std::vector<prove::CandidateResult> proved_;  // on the first rank, from one stage to the next
};

}  // namespace rulemill::pipeline
