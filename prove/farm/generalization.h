// A rule set's core in general form: rules that hold at any rank and for any parameter, each once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "prove/farm/crew.h"

namespace rulemill::prove {

struct GeneralizationReport {
  std::uint64_t core = 0;                                                // asked
  std::uint64_t any_rank = 0;                                            // of these: hold at any rank of a group
  std::uint64_t any_parameter = 0;                                       // of these: hold for any value of a parameter
  std::uint64_t general = 0;                                             // rules in general form that say all these
  std::vector<std::pair<std::string, std::vector<std::string>>> covers;  // by name: the core rules that one stands for
  double seconds = 0;
};

/// The core rules in general form, under the name of the first that says so, with certificates; those that hold at no
/// other rank and for no other parameter stay as they are. On the first rank, in Crew::work.
algebra::RuleSet generalized(const algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                             algebra::Symbols& symbols, Crew& crew, GeneralizationReport& report);

}  // namespace rulemill::prove
