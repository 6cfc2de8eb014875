// A rule set in general form: rules that hold at any rank and for any parameter, each once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "prove/farm/crew.h"

namespace rulemill::prove {

struct GeneralizationReport {
  std::uint64_t asked = 0;          // rules
  std::uint64_t any_rank = 0;       // of these: hold at any rank of a group
  std::uint64_t any_parameter = 0;  // of these: hold for any value of a parameter
  std::uint64_t any_word = 0;       // of these: hold for every word of a parameter, each with a proof
  std::map<std::string, std::uint64_t> by_parameter, by_word;            // the same by the parameters' names
  std::uint64_t general = 0;                                             // rules that say all these
  std::vector<std::pair<std::string, std::vector<std::string>>> covers;  // by name: the rules that one stands for
  std::uint64_t core = 0, shortcuts = 0;  // of the set that is made, once its core is found
  double seconds = 0;
};

/// Finds the core of what generalized() or with_general() made; counts it in the funnel.
void find_core(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
               Crew& crew, GeneralizationReport& report);

struct GeneralizationChoice {
  bool shortcuts = false;  // all rules, not the core alone
  bool words = false;      // other words in the place of a parameter's, too: a rule for each with which it is proved
};

/// The core rules, or all, in general form, under the name of the first that says so, with
/// certificates; those that hold at no other rank and for no other parameter stay as they are, shortcuts are left out
/// then. On the first rank, in Crew::work.
algebra::RuleSet generalized(const algebra::RuleSet& rules, const GeneralizationChoice& choice,
                             algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols, Crew& crew,
                             GeneralizationReport& report);

/// All rules of a set, and after them those of `general` that it does not have: in general form, their names followed
/// by "g", or with other words. Which of them are core is to be found (general_core.h).
algebra::RuleSet with_general(const algebra::RuleSet& rules, const algebra::RuleSet& general,
                              const algebra::TermBank& bank);

}  // namespace rulemill::prove
