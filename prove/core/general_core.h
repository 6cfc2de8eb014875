// The minimal core of a rule set with general rules. General rules imply their specializations, and other rules with
// these; a rule implied so becomes derived, with a derivation from specializations.
#pragma once

#include "algebra/rules/rule_set.h"
#include "prove/core/minimal_core.h"
#include "prove/distributed/task_scheduler.h"

namespace rulemill::prove {

/// The specializations of the set's general rules to ranks and parameters that occur in the set, as workers know them.
struct SpecializationTexts {
  std::vector<std::vector<std::string>> texts;  // by rule of the set
  std::map<std::string, std::string> names;     // from names for workers to names in certificates
};
/// Names the specializations after `names_of_rules`, which has a name for each rule of the set.
SpecializationTexts specialization_texts(const algebra::RuleSet& rules, const std::vector<std::string>& names_of_rules,
                                         algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols);

/// Makes the core of the set minimal: no core rule is implied by the other core rules and their specializations, which
/// imply all other rules. Among rules that imply each other, a general rule is core. Drops rules without a checkable
/// proof, and returns their number. On the first rank, in TaskScheduler::run_collective.
std::size_t find_general_core(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols, TaskScheduler& scheduler);

}  // namespace rulemill::prove
