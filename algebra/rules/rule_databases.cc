#include "algebra/rules/rule_databases.h"

#include <utility>

namespace rulemill::algebra {

std::vector<RuleRecord> load_rules(std::span<const std::filesystem::path> databases, Library& library, TermBank& terms,
                                   Symbols& symbols) {
  std::vector<RuleRecord> rules;
  for (std::filesystem::path database : databases) {
    if (std::filesystem::is_directory(database)) database /= "rules.rmdb";
    RuleSet set = load_rule_set(database, library, terms, symbols);
    for (RuleRecord& record : set.rules) {
      if (databases.size() > 1) record.rule.id = set.provenance.profile_name + "/" + record.rule.id;
      rules.push_back(std::move(record));
    }
  }
  return rules;
}

}  // namespace rulemill::algebra
