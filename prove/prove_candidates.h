// The prove stage, in rounds over a file of candidates. Candidates of a round are derived from the core and the rules
// that the round before proved, or proved, independently of each other. At the same time, those rules are derived from
// earlier ones if possible. So the result does not depend on the number of ranks. Later derivations also use small
// derived rules whose derivations are long. Answers are journaled; an interrupted run resumes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "prove/distributed/task_scheduler.h"
#include "prove/tasks/candidate_result.h"
#include "runtime/process/progress.h"
#include "runtime/text/attributes.h"

namespace rulemill::prove {

/// Options of the stages that run proof tasks.
struct ProofStageOptions {
  WorkerProcessOptions worker_process;
  std::uint64_t memory = 0;  // bytes of the first rank, without worker processes; 0: no limit
  runtime::ProgressMode progress = runtime::ProgressMode::Off;
};

struct ProveSummary {
  bool already_done = false;
  std::uint64_t candidates = 0;
  std::map<std::string, std::uint64_t> counts_by_status;  // by name of the status
  std::uint64_t queries = 0;
  double seconds = 0;
  std::vector<RankStatistics> ranks;     // on the first rank
  std::vector<CandidateResult> results;  // on the first rank; none if the stage was finished before
};

inline constexpr const char* prove_stage = "prove";
inline constexpr const char* prune_stage = "prune";
inline constexpr const char* outcomes_file = "outcomes.json";
/// Time and number of queries of each verdict; the only file that differs from run to run.
inline constexpr const char* timings_file = "timings.json";

/// The statistic of a stage that counts tasks that failed at a time or memory limit.
inline constexpr const char* failed_tasks_key = "not_final";
std::uint64_t failed_tasks(const runtime::Attributes& statistics);
/// Returns false if tasks failed. The next run then repeats the stage, because it may succeed.
bool is_final(const runtime::Attributes& statistics);

/// Writes the verdict on every candidate of `candidates`, a file in `out`, to outcomes.json in the order of the file.
/// The proved rules are a core, not yet minimal. `inputs_digest` is that of the candidates' inputs. Collective. Throws
/// Error if the memory limit is too small for this stage and the prune stage.
ProveSummary prove_candidates(const std::filesystem::path& out, const std::string& candidates,
                              const std::string& inputs_digest, algebra::Library& library,
                              const runtime::Communicator& communicator, const ProofStageOptions& options);

/// Throws Error if the limit is too small for the first rank to do the work, which takes it these bytes besides those
/// of the program. Limit 0: none.
void require_memory(std::uint64_t limit, const std::string& work, std::uint64_t bytes);

/// Returns the results of a finished prove stage.
std::vector<CandidateResult> read_results(const std::filesystem::path& out);

}  // namespace rulemill::prove
