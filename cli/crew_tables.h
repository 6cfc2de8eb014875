// What manager and workers say of a stage: who did how much, and what a derivation and a proof took on average.
#pragma once

#include <string>
#include <vector>

#include "prove/farm/crew.h"
#include "runtime/json_report.h"

namespace rulemill::cli {

/// A row a rank. Empty if nothing was done.
std::string crew_table(const std::vector<prove::RankFigures>& ranks);
/// "1,046 derivations found in 0.05 ms each, …": one or two lines. Empty if nothing was done.
std::string crew_averages(const std::vector<prove::RankFigures>& ranks);
/// The same numbers.
runtime::Json crew_report(const std::vector<prove::RankFigures>& ranks);

}  // namespace rulemill::cli
