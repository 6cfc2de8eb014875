// A rule that holds as the database has it: in the direction in which it can be applied, with what is known of its
// proof.
#pragma once

#include "algebra/rules/rule_set.h"
#include "prove/farm/outcome.h"

namespace rulemill::prove {

/// Of a proved outcome, which is core, or a derived one; its sides exchanged if only the other direction can be
/// applied.
algebra::RuleRecord record_of(const Outcome& outcome, const std::string& id, algebra::Library& library,
                              algebra::TermBank& bank, algebra::Symbols& symbols);

}  // namespace rulemill::prove
