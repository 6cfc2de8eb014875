#include "optimize/rule_databases.h"

#include <set>
#include <utility>

#include "algebra/rules/specialization.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

std::vector<RuleDatabase> load_databases(const std::vector<std::filesystem::path>& paths, algebra::Library& library,
                                         algebra::TermBank& terms, algebra::Symbols& symbols) {
  std::vector<RuleDatabase> databases;
  for (std::filesystem::path file : paths) {
    if (std::filesystem::is_directory(file)) file /= "rules.rmdb";
    algebra::RuleSet rules = algebra::load_rule_set(file, library, terms, symbols);
    const std::string prefix = paths.size() > 1 ? rules.provenance.profile_name + "/" : "";
    databases.push_back({std::move(file), prefix, std::move(rules)});
  }
  return databases;
}

std::vector<algebra::RuleRecord> join_rules(const std::vector<RuleDatabase>& databases) {
  std::vector<algebra::RuleRecord> joined;
  for (const RuleDatabase& database : databases) {
    for (const algebra::RuleRecord& record : database.rules.rules) {
      joined.push_back(record);
      joined.back().rule.id = database.prefix + record.rule.id;
    }
  }
  return joined;
}

void check_fired_rules(const std::vector<RuleDatabase>& databases, const std::set<std::string>& fired,
                       const RuleCheck& check, algebra::Library& library, algebra::TermBank& terms,
                       algebra::Symbols& symbols) {
  std::set<std::string> found;
  for (const RuleDatabase& database : databases) {
    std::set<std::string> ids;
    for (const algebra::RuleRecord& record : database.rules.rules) {
      for (const std::string& rule : fired) {
        if (!algebra::is_named_after(rule, database.prefix + record.rule.id)) continue;
        ids.insert(record.rule.id);
        found.insert(rule);
      }
    }
    if (!ids.empty()) check(database.file, database.rules, ids, library, terms, symbols);
  }
  for (const std::string& rule : fired) RM_CHECK(found.contains(rule), "a rule that fired is of a database: " + rule);
}

}  // namespace rulemill::optimize
