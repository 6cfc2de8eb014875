#include "cli/rules/special_cases.h"

#include <vector>

#include "algebra/rules/specialization.h"
#include "algebra/terms/rule_renaming.h"

namespace rulemill::cli {

std::map<std::string, std::string> special_cases(Database& database) {
  const std::vector<algebra::RuleRecord>& rules = database.rules.rules;
  std::multimap<std::string, const algebra::Rule*> by_key;
  for (const algebra::RuleRecord& record : rules)
    by_key.emplace(algebra::renaming_key(record.rule, database.bank), &record.rule);
  std::map<std::string, std::string> general_of;
  const auto most_general = [&](std::string id) {
    for (auto found = general_of.find(id); found != general_of.end(); found = general_of.find(id)) id = found->second;
    return id;
  };
  const auto specializations =
      algebra::specializations_within(rules, database.library, database.bank, database.symbols);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const algebra::RuleRecord& special : specializations[i]) {
      const auto [begin, end] = by_key.equal_range(algebra::renaming_key(special.rule, database.bank));
      for (auto known = begin; known != end; ++known) {
        const algebra::Rule& rule = *known->second;
        const bool is_own_general = most_general(rules[i].rule.id) == rule.id;
        if (!is_own_general && algebra::is_renaming_of(rule, special.rule, database.bank, database.symbols))
          general_of.try_emplace(rule.id, rules[i].rule.id);
      }
    }
  }
  for (auto& [id, general] : general_of) general = most_general(general);
  return general_of;
}

}  // namespace rulemill::cli
