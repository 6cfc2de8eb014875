// A rule set in general form: its rules are generalized to any rank and any parameter, without duplicates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "prove/distributed/task_scheduler.h"

namespace rulemill::prove {

/// Counts of rules of the original set unless said otherwise.
struct GeneralizationReport {
  std::uint64_t rules_considered = 0;
  std::uint64_t any_rank = 0;        // hold at any rank of a dimension pack
  std::uint64_t any_parameter = 0;   // hold for any value of a parameter
  std::uint64_t any_enum_value = 0;  // hold for every enum value of a parameter, each with a proof
  std::map<std::string, std::uint64_t> by_parameter, by_enum_parameter;    // the same by the parameters' names
  std::uint64_t general = 0;                                               // rules of the resulting set
  std::vector<std::pair<std::string, std::vector<std::string>>> replaced;  // resulting rule, original rules; by name
  std::uint64_t dropped = 0;                                               // of the final set: no checkable proof
  std::uint64_t core = 0, derived = 0;                                     // rules of the final set, by tier
  double seconds = 0;
};

/// Appends the counts of the report to a funnel.
void append_counts(const GeneralizationReport& report, std::vector<std::pair<std::string, std::uint64_t>>& funnel);

/// Finds the core of the result of generalize_rule_set() or append_general_rules().
void find_core_of_general_rules(algebra::RuleSet& rules, algebra::Library& library, algebra::TermBank& bank,
                                algebra::Symbols& symbols, TaskScheduler& scheduler, GeneralizationReport& report);

struct GeneralizationOptions {
  bool include_derived = false;  // generalize all rules, not only the core
  bool enum_values = false;      // also replace enum values: adds a rule for each value for which it is proved
};

/// Returns the general forms of the rules, with certificates. A form that several rules have is named after the first
/// of them. Core rules without a general form are kept; derived ones are dropped. On the first rank, in
/// TaskScheduler::run_collective.
algebra::RuleSet generalize_rule_set(const algebra::RuleSet& rules, const GeneralizationOptions& options,
                                     algebra::Library& library, algebra::TermBank& bank, algebra::Symbols& symbols,
                                     TaskScheduler& scheduler, GeneralizationReport& report);

/// Returns `rules` followed by the rules of `general` that are new up to renaming, with "g" appended to a name that
/// occurs in `rules`. The core is still to be found.
algebra::RuleSet append_general_rules(algebra::RuleSet rules, algebra::RuleSet general, const algebra::TermBank& bank,
                                      algebra::Symbols& symbols);

}  // namespace rulemill::prove
