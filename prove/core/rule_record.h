// The database record of a proved or derived rule.
#pragma once

#include "algebra/rules/rule_set.h"
#include "prove/tasks/candidate_result.h"

namespace rulemill::prove {

/// Returns the record of a proved (core) or derived rule. Its sides are exchanged if only the other direction can be
/// applied.
algebra::RuleRecord record_of(const CandidateResult& result, const std::string& id, algebra::Library& library,
                              algebra::TermBank& bank, algebra::Symbols& symbols);

}  // namespace rulemill::prove
