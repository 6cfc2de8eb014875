// The prune stage: makes a rule database from the results of the prove stage. It has a minimal core, which implies
// all other rules, and derived rules, each with the rule instances that imply it.
#pragma once

#include "algebra/rules/rule_set.h"
#include "prove/prove_candidates.h"

namespace rulemill::prove {

struct PruneSummary {
  bool already_done = false;
  std::uint64_t core = 0;
  std::uint64_t derived = 0;
  std::uint64_t subsumed_by_core = 0;         // instances of a single core rule: not stored
  std::uint64_t proved = 0;                   // all of the above
  std::uint64_t without_checkable_proof = 0;  // proved or derived, but dropped
  std::vector<CandidateResult> dropped;       // these, each with the reason
  std::uint64_t inactive = 0;                 // core rules that derivations do not use (must_deactivate)
  double seconds = 0;
  std::vector<RankStatistics> ranks;  // on the first rank
};

inline constexpr const char* pruned_file = "pruned.rmdb";
/// The dropped rules, in the form of to_text; unknown, with the reason.
inline constexpr const char* dropped_file = "dropped.json";

/// Returns the rules that a finished prune stage dropped.
std::vector<CandidateResult> read_dropped(const std::filesystem::path& out);

/// Appends this stage's rows of the funnel, for the summary and for the database.
void append_counts(const PruneSummary& summary, std::vector<std::pair<std::string, std::uint64_t>>& funnel);

/// Runs the stage. Collective; the prove stage must be finished. `results` are its results; without them they are read.
/// Only the first rank's summary has counts. `funnel` is stored in the database, followed by this stage's rows.
PruneSummary prune_rules(const std::filesystem::path& out, const std::string& inputs_digest, algebra::Library& library,
                         const algebra::Provenance& provenance,
                         std::vector<std::pair<std::string, std::uint64_t>> funnel,
                         const runtime::Communicator& communicator, const ProofStageOptions& options,
                         std::vector<CandidateResult> results = {});

}  // namespace rulemill::prove
