// Prints the results of `--cross-check` and `--core-minimality`, and adds them to the report.
#pragma once

#include "cli/command.h"
#include "prove/core/audit.h"

namespace rulemill::cli {

/// Throws Error on every rank if a derived rule is false. Collective.
void report_cross_check(Context& context, const prove::CrossCheckReport& report,
                        const std::vector<prove::RankStatistics>& ranks);
/// Throws Error on every rank if the other core rules imply one, or if the core does not imply a derived rule.
/// Collective.
void report_minimality(Context& context, const prove::MinimalityReport& report,
                       const std::vector<prove::RankStatistics>& ranks);

}  // namespace rulemill::cli
