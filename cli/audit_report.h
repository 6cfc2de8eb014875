// What cross-checking and the check for minimality found, for the terminal and for --json.
#pragma once

#include "cli/command.h"
#include "prove/farm/audit.h"

namespace rulemill::cli {

/// Throws Error on every rank if a derived rule is false. Collective.
void show_cross_check(Context& context, const prove::CrossReport& report, const std::vector<prove::RankFigures>& ranks);
/// Throws Error on every rank if a core rule follows from the others, or a shortcut does not follow. Collective.
void show_minimality(Context& context, const prove::MinimalityReport& report,
                     const std::vector<prove::RankFigures>& ranks);

}  // namespace rulemill::cli
