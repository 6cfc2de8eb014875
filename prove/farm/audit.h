// Two questions to a finished rule set that nobody needs answered to use it, and that show whether prover and deriver
// are right and the core is what it claims to be.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "prove/farm/crew.h"

namespace rulemill::prove {

/// Derived rules against the definitions: a refuted one shows that the deriver is wrong, an unknown one that the prover
/// is weak.
struct CrossReport {
  std::uint64_t rules = 0, proved = 0;
  std::vector<std::pair<std::string, std::string>> refuted, unknown;  // rule, counterexample or reason
  double seconds = 0;
};
/// Proves each rule, typed and in text form, from the definitions alone. On the first rank, in Crew::work.
CrossReport cross_check(const std::vector<std::string>& rules, Crew& crew);

/// The core, with its instances, against itself and against the shortcuts.
struct MinimalityReport {
  std::uint64_t core = 0;
  std::uint64_t instances = 0;    // of core rules in general form, at ranks and numbers that occur in the set
  std::uint64_t independent = 0;  // the others do not imply it: nothing new could be added within the bound on terms
  std::vector<std::string> at_limit;  // not shown to be implied: a limit came first
  std::vector<std::string> implied;   // by the other core rules
  std::uint64_t shortcuts = 0;
  std::vector<std::string> not_implied;  // shortcuts that the core does not imply
  double seconds_core = 0, seconds_shortcuts = 0;
};
/// On the first rank, in Crew::work; once a crew, whose workers must know no rules yet. A shortcut with a derivation
/// follows by it: the certificates have been checked before.
MinimalityReport check_minimality(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                  algebra::Symbols& symbols, Crew& crew);

}  // namespace rulemill::prove
