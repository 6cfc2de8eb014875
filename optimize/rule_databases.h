// The rule databases of an optimization: their rules in one list, and the way back from the rules that fired.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/options.h"

namespace rulemill::optimize {

struct RuleDatabase {
  std::filesystem::path file;
  std::string prefix;  // of the ids of its rules among those of several databases, not necessarily unique
  algebra::RuleSet rules;
};

/// Loads databases, or those in folders. Throws InputError.
std::vector<RuleDatabase> load_databases(const std::vector<std::filesystem::path>& paths, algebra::Library& library,
                                         algebra::TermBank& terms, algebra::Symbols& symbols);

/// Returns the rules of all databases, with prefixed ids.
std::vector<algebra::RuleRecord> join_rules(const std::vector<RuleDatabase>& databases);

/// Passes the rules that fired, by their ids in join_rules, to `check`, by database. Two databases with the same prefix
/// are both checked.
void check_fired_rules(const std::vector<RuleDatabase>& databases, const std::set<std::string>& fired,
                       const RuleCheck& check, algebra::Library& library, algebra::TermBank& terms,
                       algebra::Symbols& symbols);

}  // namespace rulemill::optimize
