#include "algebra/exchange/pdl/pdl_reader.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "algebra/exchange/fixed_forms.h"
#include "algebra/exchange/pdl/pattern_reader.h"
#include "algebra/exchange/pdl/pattern_types.h"
#include "algebra/exchange/pdl/pdl_writer.h"
#include "algebra/terms/rule_renaming.h"
#include "algebra/terms/typing.h"
#include "runtime/files/atomic_file.h"
#include "runtime/text/error.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

const std::filesystem::path data = std::filesystem::path(RULEMILL_SOURCE_DIR) / "data";

struct Reader {
  Library library = Library::load(data / "operators");
  TermBank bank{library};
  Symbols symbols;
  StablehloTable table = StablehloTable::load(data / "exports" / "stablehlo.toml", library);

  std::vector<ImportedRule> read(const std::string& text) {
    return parse_pdl_rules(text, "given.pdl", table, library, bank, symbols);
  }
  std::string write(const Rule& rule) {
    const std::vector<RuleToExport> rules = {{rule, ""}};
    return write_pdl_rules(rules, {}, table, true, {"rules", ""}, library, bank, symbols).text;
  }
  bool binds_variables(const Rule& rule) { return bank.variables(rule.source).size() == rule.variables.size(); }
};

Rule reversed(Rule rule) {
  std::swap(rule.source, rule.target);
  return rule;
}

/// A pattern as text, in which the operands of commutative operations are sorted.
class PatternKey {
 public:
  PatternKey(const PdlPattern& pattern, Symbols& symbols)
      : pattern_(pattern), symbols_(symbols), typing_(stated_typings(pattern, symbols).at(0)) {}

  std::string text() const {
    std::set<std::string> conditions(typing_.conditions.begin(), typing_.conditions.end());
    std::string result = of(pattern_.root) + " => " + of(pattern_.replacement);
    for (const std::string& each : conditions) result += ", " + each;
    return result;
  }

 private:
  std::string of(std::size_t index) const {
    const PdlNode& node = pattern_.nodes[index];
    const std::string type = symbols_.to_string(*typing_.types[*node.type].shape);
    if (node.operation.empty()) return node.name + type;
    std::vector<std::string> operands;
    for (const std::size_t each : node.operands) operands.push_back(of(each));
    if (is_commutative_stablehlo(node.operation.substr(10))) std::ranges::sort(operands);
    std::string result = node.operation + type + "(";
    for (const std::string& each : operands) result += each + " ";
    for (const auto& [name, value] : node.attributes) result += name + "=" + value.value_or("any") + " ";
    for (const auto& [name, value] : typing_.attributes[index]) result += name + "=" + value + " ";
    return result + ")";
  }

  const PdlPattern& pattern_;
  Symbols& symbols_;
  PatternTyping typing_;
};

std::vector<std::string> keys_of(const std::string& module, Symbols& symbols) {
  std::vector<std::string> keys;
  for (const PdlPattern& pattern : read_pdl_patterns(module, "written")) {
    REQUIRE(pattern.problem.empty());
    keys.push_back(PatternKey(pattern, symbols).text());
  }
  return keys;
}

/// What became of the patterns of a rule: the same rule, another one that is exported as the same pattern, or neither.
struct RoundTrip {
  std::size_t same = 0, same_pattern = 0;
  std::vector<std::string> faults;
};

void go_round(Reader& reader, const Rule& rule, RoundTrip& result) {
  for (const Rule& fixed : fixed_forms(rule, 4, reader.library, reader.bank, reader.symbols)) {
    const auto typed = try_typing(fixed, reader.bank, reader.symbols);
    if (!typed) continue;
    const std::string module = reader.write(typed->rule);
    const std::vector<std::string> patterns = keys_of(module, reader.symbols);
    const std::vector<ImportedRule> rules = reader.read(module);
    REQUIRE(rules.size() == patterns.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const ImportedRule& read = rules[i];
      const std::string text = to_string(typed->rule, reader.bank, reader.symbols);
      if (!read.rule) {
        result.faults.push_back(read.problem + "\n" + text);
        continue;
      }
      const auto again = try_typing(*read.rule, reader.bank, reader.symbols);
      if (again && is_renaming_of(again->rule, typed->rule, reader.bank, reader.symbols)) {
        ++result.same;
        continue;
      }
      const std::vector<std::string> written =
          again ? keys_of(reader.write(again->rule), reader.symbols) : std::vector<std::string>();
      if (!written.empty() && written[0] == patterns[i]) {
        ++result.same_pattern;
      } else {
        result.faults.push_back(text + to_string(*read.rule, reader.bank, reader.symbols) + patterns[i] + "\n" +
                                (written.empty() ? "" : written[0]));
      }
    }
  }
}

}  // namespace

TEST_CASE("exported patterns of the default core are read as the rules that were exported") {
  Reader reader;
  const std::filesystem::path file = data / "rules" / "models.rules";
  const std::vector<Rule> rules =
      parse_rules(runtime::read_file(file), file.string(), reader.library, reader.bank, reader.symbols);
  RoundTrip result;
  for (const Rule& rule : rules) {
    for (const Rule& each : {rule, reversed(rule)}) {
      if (reader.binds_variables(each)) go_round(reader, each, result);
    }
  }
  INFO(result.same << " patterns are read as the same rule, " << result.same_pattern << " as one of other operators");
  INFO(result.faults.size() << " faults: " << (result.faults.empty() ? "" : result.faults[0]));
  CHECK(result.faults.empty());
  CHECK(result.same > 3 * result.same_pattern);
}
