// The candidates of a run, as `rules list --candidates` and `rules show` print them.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace rulemill::cli {

/// Lists the candidates of the run in the folder RULES that have one of the verdicts, with the reason.
void list_candidates(Context& context, const std::vector<std::string>& verdicts);

/// Shows a candidate of the run in the folder RULES. Returns false if there is no such run or candidate.
bool show_candidate(Context& context, const std::string& id, algebra::Library& library);

}  // namespace rulemill::cli
