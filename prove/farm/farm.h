// The prove-and-prune pass over a file of candidates, in rounds. Within a round candidates are judged against the core
// of the rounds before, knowing nothing of each other; what was newly proved is then held against what was proved
// before it. So the result does not depend on the number of ranks. Answers go to a journal: a run that was stopped
// continues there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "prove/farm/crew.h"
#include "runtime/attributes.h"
#include "runtime/progress.h"

namespace rulemill::prove {

struct FarmOptions {
  WorkerProcessOptions helper;
  std::uint32_t block = 32;  // goals of one derivation task
  std::uint32_t first_round =
      32;  // candidates of a round: about this many, or a quarter of those done if that is more,
  std::uint32_t largest_round = 1024;  // up to this many: they do not know of each other
  runtime::ProgressMode progress = runtime::ProgressMode::Off;
};

struct FarmSummary {
  bool already_done = false;
  std::uint64_t candidates = 0;
  std::map<std::string, std::uint64_t> outcomes;  // by name of kind
  std::uint64_t queries = 0;
  double seconds = 0;
  std::vector<RankFigures> ranks;  // on the first rank
};

inline constexpr const char* prove_stage = "prove";
inline constexpr const char* outcomes_file = "outcomes.json";
/// Each verdict's time and number of queries: the one file of a run that differs from run to run.
inline constexpr const char* timings_file = "timings.json";

/// Among a stage's figures: tasks that failed, since a helper was out of time or memory. Another run may do better, so
/// it does the stage again.
inline constexpr const char* not_final = "not_final";
bool is_final(const runtime::Attributes& figures);

/// Judges every candidate of `candidates` (a file in `out`) into outcomes.json, in the file's order: the proved ones
/// are the core so far. `inputs_digest` names what the candidates come from. Collective.
FarmSummary prove_candidates(const std::filesystem::path& out, const std::string& candidates,
                             const std::string& inputs_digest, algebra::Library& library,
                             const runtime::Communicator& communicator, const FarmOptions& options);

/// The outcomes of a finished prove stage.
std::vector<Outcome> read_outcomes(const std::filesystem::path& out);

}  // namespace rulemill::prove
