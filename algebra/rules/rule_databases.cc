#include "optimize/search/rule_databases.h"

#include <utility>

namespace rulemill::optimize {

std::vector<algebra::RuleRecord> load_rules(std::span<const std::filesystem::path> databases, algebra::Library& library,
                                            algebra::TermBank& terms, algebra::Symbols& symbols) {
  std::vector<algebra::RuleRecord> rules;
  for (std::filesystem::path database : databases) {
    if (std::filesystem::is_directory(database)) database /= "rules.rmdb";
    algebra::RuleSet set = algebra::load_rule_set(database, library, terms, symbols);
    for (algebra::RuleRecord& record : set.rules) {
      if (databases.size() > 1) record.rule.id = set.provenance.profile_name + "/" + record.rule.id;
      rules.push_back(std::move(record));
    }
  }
  return rules;
}

}  // namespace rulemill::optimize
