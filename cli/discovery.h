// The stages from definitions to rules in one output folder, each run at most once, with what they say of themselves.
// The profiles of a folder are enumerated and joined one by one; their candidates are proved and pruned together.
// Every rank calls the same members in the same order.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/proof_options.h"
#include "dedup/join.h"
#include "enumerate/profile_parts.h"
#include "fingerprint/run.h"
#include "prove/farm/farm.h"
#include "runtime/atomic_file.h"

namespace rulemill::cli {

/// Options that only these stages have.
struct StageOptions {
  unsigned threads = 0;         // 0: all cores of the rank
  bool all_terms = false;       // extend every term, not one of each class
  bool every_renaming = false;  // take no two variables for each other
  std::uint64_t memory = 0;     // bytes that a rank may use; 0: no limit
  std::uint64_t checkpoint_rows = dedup::default_checkpoint_rows;
  std::string device = "auto";
  ProofOptions proofs;
  bool cross_check = false;
  bool fresh = false;
};

class Discovery {
 public:
  struct StageTime {
    std::string name;
    double seconds = 0;
    bool already_done = false;
  };
  /// What one of several profiles asked for, and what its stages took and found.
  struct Part {
    std::filesystem::path folder;
    enumerate::Parts definitions;
    std::string name, digest;  // of all its inputs
    std::uint64_t seed = 0;
    std::uint32_t max_ops = 0;
    std::vector<StageTime> times;
    std::vector<std::pair<std::string, std::uint64_t>> funnel;
  };

  /// Loads definitions and profile, and holds the output folder. Collective: all ranks throw if the first one cannot.
  Discovery(Context& context, const StageOptions& options);
  /// Of a folder of profiles, once each has been joined: what is proved and pruned of all their candidates.
  Discovery(Context& context, const StageOptions& options, const std::vector<Part>& parts);
  Part part() const;

  /// Compares what the folder was made from with what is asked now. What has changed is said; if it `may_change` and
  /// only adds to the run or takes operators away, the stages begin anew. Throws InputError otherwise. Collective.
  void meet_inputs(bool may_change);

  void fingerprint();
  void join();
  /// Of several profiles, after theirs: the candidates of all, in one file.
  void unite();
  void prove();
  void prune();
  /// Time by stage, peak memory, the funnel; funnel.json.
  void conclude();

  /// Throws InputError unless the folder's manifest says that the stage is finished.
  void require_finished(const std::string& stage) const;

 private:
  /// All that results depend on, part by part.
  enumerate::Parts inputs() const;
  void begin();
  void add(const Part& part);
  /// Opens this rank's log of events.
  void log_begin();
  void show_levels();
  /// Of what the candidates say and of what their operators mean.
  std::string candidates_digest() const;
  prove::FarmOptions farm_options() const;
  void note_stage(const std::string& name, double seconds, bool already_done);
  /// Proves every derived candidate from the definitions, too. Throws Error if one is false.
  void cross_check();
  /// Who did how much of a stage's proofs.
  void show_crew(const char* stage, const std::vector<prove::RankFigures>& ranks);
  void show_memory();

  Context& context_;
  StageOptions options_;
  std::shared_ptr<prove::IdleHelpers> helpers_ = std::make_shared<prove::IdleHelpers>();  // between stages
  algebra::Library library_;
  enumerate::Profile profile_;            // of several: name, digest, seed and number of operators alone
  enumerate::Parts definitions_, parts_;  // of all profiles; the digests of several, by name
  std::filesystem::path out_;
  std::vector<std::filesystem::path> folders_;  // of several profiles
  std::unique_ptr<runtime::FolderLock> lock_;   // the first rank's
  fingerprint::Summary fingerprints_;
  dedup::Summary joined_;
  runtime::Communicator::Traffic traffic_;  // when the last stage ended
  std::vector<StageTime> times_;
  std::vector<std::pair<std::string, std::uint64_t>> funnel_;
};

}  // namespace rulemill::cli
