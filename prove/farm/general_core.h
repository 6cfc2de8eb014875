// The core of a rule set that has rules in general form: these imply rules at their own ranks and numbers, and what is
// implied so is a shortcut, with a derivation from instances.
#pragma once

#include "algebra/rules/rule_set.h"
#include "prove/farm/crew.h"
#include "prove/farm/minimal_core.h"

namespace rulemill::prove {

/// Instances of rules in general form that occur in the set, as workers are told of them.
struct FamilyTexts {
  std::vector<std::vector<std::string>> texts;  // by rule of the set
  std::map<std::string, std::string> names;     // of instances: what they are called here, and in certificates
};
/// They are called after `names_of_rules`, which has one for each rule of the set.
FamilyTexts family_texts(const algebra::RuleSet& rules, const std::vector<std::string>& names_of_rules,
                         algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols);

/// Makes the set minimal: no core rule is implied by the other core rules and their instances at ranks and numbers that
/// occur in the set, and they imply the rest. Of rules that imply each other one in general form is core. Those that no
/// steps are known for any more are left out, and counted. On the first rank, in Crew::work.
std::size_t find_general_core(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                              algebra::Symbols& symbols, Crew& crew);

}  // namespace rulemill::prove
