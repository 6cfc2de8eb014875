// Rules in general form where they are used: at the ranks and parameters that occur.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "algebra/rules/rule_set.h"

namespace rulemill::algebra {

/// Whether a rule has groups or open parameters; it is matched at no graph before it has neither.
bool is_general(const Rule& rule, const TermBank& bank);

/// What a graph has: operators' instances, and the shapes of its constants. Their smaller sizes, such as kernels, may
/// stand for parameters of operators that it does not have, where what these make is of such a shape.
struct Occurrences {
  std::set<InstanceId> instances;
  std::set<std::vector<std::int64_t>> shapes;
};

/// The rules, those in general form replaced by their instances at ranks and parameters for which every operator of one
/// side occurs, or is made by such an instance; named after what they are an instance of, as in "r5@d=2,stride=1".
/// Those that are one of the other rules are left out.
std::vector<RuleRecord> at_instances(const std::vector<RuleRecord>& rules, const Occurrences& found, Library& library,
                                     TermBank& bank, Symbols& symbols);

/// By rule: its instances, itself aside, at the ranks and numbers for which every operator of one side occurs in some
/// of these rules; numbers that may stay open, open as well. Named as above.
std::vector<std::vector<RuleRecord>> instances_within(const std::vector<RuleRecord>& rules, Library& library,
                                                      TermBank& bank, Symbols& symbols);

/// The instance of a rule in general form whose name is the rule's with `name` behind it, as in "@d=2,stride=1";
/// nothing if there is none.
std::optional<Rule> instance_named(const Rule& rule, std::string_view name, Library& library, TermBank& bank,
                                   Symbols& symbols);

}  // namespace rulemill::algebra
