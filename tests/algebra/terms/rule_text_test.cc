#include "algebra/terms/rule_text.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "algebra/terms/typing.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {}  // namespace

TEST_CASE("formatting a parsed rule gives its text back") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const std::string text =
      "rule merge(x[n, c, h, w], v[f, c, 3, 3], u[g, c, 3, 3])\n"
      "  conv2d(x, v), conv2d(x, u)\n"
      "  => split(conv2d(x, concat(v, u; axis=0)); axis=1, at=f).first, split(conv2d(x, concat(v, u; axis=0)); axis=1, "
      "at=f).second\n"
      "  when 2*f = g\n";
  const std::vector<Rule> rules = parse_rules(text, "merge.rules", library, bank, symbols);
  REQUIRE(rules.size() == 1);
  CHECK(to_string(rules[0], bank, symbols) == text);
  CHECK(bank.nodes(rules[0].target).size() == 3);
}

TEST_CASE("the text of one rule has one rule, which has types or a reason why not") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const auto read = [&](const std::string& text) { return parse_rule(text, "one.rules", library, bank, symbols); };
  const std::string twice = "rule twice(x:2)\n  transpose(x; perm=[0, 1]) => x\n";
  CHECK(read(twice).id == "twice");
  CHECK_THROWS_WITH(read(twice + twice), "one.rules: expected one rule, found 2");
  CHECK_THROWS_WITH(read("# none\n"), "one.rules: expected one rule, found 0");
  CHECK(try_typing(read(twice), bank, symbols).has_value());
  const Rule wrong = read("rule wrong(a[2, 3], b[4, 5])\n  matmul(a, b) => matmul(a, b)\n");
  CHECK_FALSE(try_typing(wrong, bank, symbols).has_value());
  CHECK_THROWS_WITH(require_types(wrong, bank, symbols, "here"), Catch::Contains("here: is ill-typed: "));
}

TEST_CASE("a variable is written as 'of positive' if it occurs only in positive()") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const std::string text =
      "rule scaled(x[m, n], c[] of positive)\n"
      "  relu(scale(x, c))\n"
      "  => scale(relu(x), c)\n";
  const Rule rule = parse_rules(text, "r.rules", library, bank, symbols)[0];
  CHECK(to_string(rule.source[0], bank, symbols) == "relu(scale(x, positive(c)))");
  CHECK(to_string(rule, bank, symbols) == text);
  CHECK(positive_variables(rule, bank) == std::vector<TermId>{rule.variables[1]});
  const std::string same = "rule scaled(x:2, c:0)\n  relu(scale(x, positive(c)))\n  => scale(relu(x), positive(c))\n";
  CHECK(parse_rules(same, "r.rules", library, bank, symbols)[0].source == rule.source);
  // It also occurs outside positive(), so it is an ordinary variable.
  const std::string bare =
      "rule log_of_positive(x[m, n], c[])\n"
      "  scale(scale(x, positive(c)), c)\n"
      "  => scale(scale(x, c), positive(c))\n";
  const Rule other = parse_rules(bare, "r.rules", library, bank, symbols)[0];
  CHECK(positive_variables(other, bank).empty());
  CHECK(to_string(other, bank, symbols) == bare);
}

TEST_CASE("a variable 'of bool' is any truth value of a number") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const Rule rule =
      parse_rules("rule both(p[m, n] of bool)\n  logical_and(p, p) => p\n", "r.rules", library, bank, symbols)[0];
  const std::string text =
      "rule both(p[m, n])\n"
      "  logical_and(truth_of_number(p), truth_of_number(p))\n"
      "  => truth_of_number(p)\n";
  CHECK(to_string(rule, bank, symbols) == text);
  CHECK(parse_rules(text, "r.rules", library, bank, symbols)[0].source == rule.source);
}

TEST_CASE("an error in a rule is reported in one line with its position") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const std::map<std::string, std::string> cases = {
      {"rule r(x:2)\n  matmull(x, x) => x", "r.rules:2:3: unknown operator 'matmull'"},
      {"rule r(x:2)\n  matmul(x) => x", "r.rules:2:3: operator 'matmul' takes 2 arguments, found 1"},
      {"rule r(x:2)\n  relu(x) => y", "r.rules:2:14: 'y' is no variable of this rule"},
      {"rule r(x:2)\n  split(x; axis=0) => x", "r.rules:2:3: 'split' has several outputs"},
      {"rule r(x:2)\n  concat(x, x; axis=2) => x",
       "r.rules:2:3: operator 'concat': axis=2 is not an axis below the rank 2"},
      {"rule r(x:2 of real)\n  relu(x) => x", "r.rules:1:15: expected positive or bool, found 'real'"},
      {"rule r(x:2)\n  relu(x; slope=1) => x", "r.rules:2:11: operator 'relu' has no parameter 'slope'"},
  };
  for (const auto& [text, expected] : cases) {
    INFO(text);
    try {
      parse_rules(text, "r.rules", library, bank, symbols);
      FAIL("accepted");
    } catch (const runtime::InputError& error) {
      CHECK(std::string(error.what()).starts_with(expected));
    }
  }
}
