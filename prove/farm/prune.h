// From the outcomes of the prove stage to the rule database: the core that implies all the others and of which nothing
// is implied by the rest, and the shortcuts, each with the instances of core rules that imply it.
#pragma once

#include "algebra/rules/rule_set.h"
#include "prove/farm/farm.h"

namespace rulemill::prove {

struct PruneSummary {
  bool already_done = false;
  std::uint64_t core = 0;
  std::uint64_t shortcut = 0;
  std::uint64_t instances_of_core = 0;  // implied by one core rule, which a search applies as well: left out
  std::uint64_t proved = 0;             // rules that hold: all of the above
  std::uint64_t unfollowed = 0;         // proved or derived by no steps that the checker can follow: left out
  std::uint64_t apart = 0;              // core rules that no derivation uses (outcome.h)
  double seconds = 0;
  std::vector<RankFigures> ranks;  // on the first rank
};

inline constexpr const char* prune_stage = "prune";
inline constexpr const char* rules_file = "rules.rmdb";

/// This stage's rows of the funnel, as it is printed and as the database has it.
void append_counts(const PruneSummary& summary, std::vector<std::pair<std::string, std::uint64_t>>& funnel);

/// Collective; the prove stage must be finished. Only the first rank's summary has counts. `funnel` goes into the
/// database, followed by this stage's counts.
PruneSummary prune_rules(const std::filesystem::path& out, const std::string& inputs_digest, algebra::Library& library,
                         const algebra::Provenance& provenance,
                         std::vector<std::pair<std::string, std::uint64_t>> funnel,
                         const runtime::Communicator& communicator, const FarmOptions& options);

}  // namespace rulemill::prove
