// Exports rules as an egglog program: a constructor per operator and ranks, rules that compute shapes, and rules that
// unite the outputs of both sides where the shapes and the condition fit.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "algebra/exchange/exported_rules.h"
#include "algebra/terms/typing.h"

namespace rulemill::algebra {

/// Exports typed rules in both directions. General rules are exported at each number of dimensions for their packs for
/// which their variables have at most `max_rank`; symbolic parameters are integers of the program. The program ends
/// with a block for each goal, headed "; goal NAME": its variables with shapes of numbers that the goal allows, and its
/// sides as `NAME.source.K` and `NAME.target.K`. Goals without such numbers, or above the rank, are listed as skipped.
ExportedRules write_egglog_rules(std::span<const RuleToExport> rules, std::vector<SkippedRule> skipped,
                                 std::span<const TypedRule> goals, std::uint32_t max_rank, const ExportFrame& frame,
                                 Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
