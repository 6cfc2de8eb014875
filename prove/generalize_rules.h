// The generalize stage: adds the general forms of its rules, for any rank and any parameter value, to the database of
// the prune stage. A rule that a general form implies becomes derived.
#pragma once

#include "algebra/rules/rule_set.h"
#include "prove/core/generalize_rule_set.h"
#include "prove/prove_candidates.h"

namespace rulemill::prove {

/// Which rules are generalized.
enum class GeneralizedTier : std::uint8_t { None, Core, All };

struct GeneralizeSummary {
  bool already_done = false;
  GeneralizationReport report;  // of a stage that was already done: without names and kinds
  double seconds = 0;
  std::vector<RankStatistics> ranks;  // on the first rank
};

inline constexpr const char* generalize_stage = "generalize";
/// The database of a run.
inline constexpr const char* rules_file = "rules.rmdb";

/// Runs the stage. Collective; the prune stage must be finished. Only the first rank's summary has counts. The database
/// is the same on any number of ranks; with None it is that of the prune stage. Throws Error if memory is too small.
GeneralizeSummary generalize_rules(const std::filesystem::path& out, const std::string& inputs_digest,
                                   algebra::Library& library, GeneralizedTier tier,
                                   const runtime::Communicator& communicator, const ProofStageOptions& options);

}  // namespace rulemill::prove
