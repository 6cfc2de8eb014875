#include "algebra/exchange/egg/egg_reader.h"

#include "algebra/exchange/egg/egg_statements.h"
#include "algebra/exchange/egg/egg_translation.h"
#include "algebra/exchange/egg/rule_readings.h"
#include "algebra/exchange/egg/s_expression.h"
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
    try {
      std::vector<Rule> readings = readings_of(translate(statement, library), library, bank, symbols);
      for (std::size_t r = 0; r < readings.size(); ++r) {
        readings[r].id = readings.size() == 1 ? name : name + "_" + std::to_string(r + 1);
        rules.push_back({readings[r].id, statement.place, std::move(readings[r]), {}});
      }
    } catch (const runtime::InputError& error) {
      rules.push_back({name, error.where(), std::nullopt, without_place(error)});
    }
  }
  return rules;
}

}  // namespace rulemill::algebra
