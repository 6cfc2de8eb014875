#include "algebra/exchange/egg/egg_reader.h"

#include "algebra/exchange/egg/egg_statements.h"
#include "algebra/exchange/egg/egg_translation.h"
#include "algebra/exchange/egg/rule_readings.h"
#include "algebra/exchange/egg/s_expression.h"
#include "algebra/exchange/readings.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {

bool is_egg_file(const std::filesystem::path& file) { return file.extension() == ".egg"; }

std::vector<ImportedRule> parse_egg_rules(std::string_view text, const std::string& origin, Library& library,
                                          TermBank& bank, Symbols& symbols) {
  std::vector<ImportedRule> rules;
  for (const EggStatement& statement : read_egg_statements(text, origin)) {
    const std::string name = rule_name(statement);
    if (!statement.problem.empty()) {
      rules.push_back({name, statement.place, std::nullopt, statement.problem});
      continue;
    }
    const auto read = [&] { return readings_of(translate(statement, library), library, bank, symbols); };
    append_readings(name, statement.place, read, rules);
  }
  return rules;
}

}  // namespace rulemill::algebra
