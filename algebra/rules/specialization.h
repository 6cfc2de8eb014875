// Specialization: general rules at fixed ranks and parameters.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algebra/rules/rule_set.h"

namespace rulemill::algebra {

/// True if a rule has dimension packs or symbolic parameters. Such a rule must be specialized before it is matched.
bool is_general(const Rule& rule, const TermBank& bank);

/// The operator instances of a graph and the shapes of its constants. The smaller sizes of constants, such as kernel
/// sizes, are candidate values for parameters of operators that the graph lacks, if their outputs fit such a shape.
struct UsedOperators {
  std::set<InstanceId> instances;
  std::set<std::vector<std::int64_t>> constant_shapes;
};

/// General rules at all ranks of their packs, by id, with the assignments as in the names of specializations: they do
/// not depend on what a graph uses.
using RankedRules = std::map<std::string, std::vector<std::pair<std::string, Rule>>>;

/// Replaces general rules by their specializations for which every operator instance of one side occurs or is created
/// by another rule. A specialization is named after its rule, as in "r5@d=2,stride=1". Drops specializations that equal
/// another rule. `ranked`, of the same rules, is completed.
std::vector<RuleRecord> specialize(const std::vector<RuleRecord>& rules, const UsedOperators& used, Library& library,
                                   TermBank& bank, Symbols& symbols, RankedRules& ranked);
inline std::vector<RuleRecord> specialize(const std::vector<RuleRecord>& rules, const UsedOperators& used,
                                          Library& library, TermBank& bank, Symbols& symbols) {
  RankedRules ranked;
  return specialize(rules, used, library, bank, symbols, ranked);
}

/// Returns, for each rule, its specializations (other than itself) for which every operator instance of one side occurs
/// in some of the rules; including those that keep symbolic parameters. Named as above.
std::vector<std::vector<RuleRecord>> specializations_within(const std::vector<RuleRecord>& rules, Library& library,
                                                            TermBank& bank, Symbols& symbols);

/// Returns whether a name is that of the rule or of one of its specializations.
inline bool is_named_after(std::string_view name, std::string_view rule) {
  return name.starts_with(rule) && (name.size() == rule.size() || name[rule.size()] == '@');
}

/// Returns the specialization whose name is that of the rule followed by `name`, as in "@d=2,stride=1"; nullopt if
/// there is none.
std::optional<Rule> specialize_by_name(const Rule& rule, std::string_view name, Library& library, TermBank& bank,
                                       Symbols& symbols);

}  // namespace rulemill::algebra
