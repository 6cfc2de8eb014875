#include "algebra/terms/rule_text.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "runtime/error.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

Library shipped() { return Library::load(std::filesystem::path(RULEMILL_SOURCE_DIR) / "data" / "operators"); }

}  // namespace

TEST_CASE("rules are read and written in the same text") {
  Library library = shipped();
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

TEST_CASE("an error in a rule is one line with its place") {
  Library library = shipped();
  TermBank bank(library);
  Symbols symbols;
  const std::map<std::string, std::string> cases = {
      {"rule r(x:2)\n  matmull(x, x) => x", "r.rules:2:3: unknown operator 'matmull'"},
      {"rule r(x:2)\n  matmul(x) => x", "r.rules:2:3: operator 'matmul' takes 2 arguments, found 1"},
      {"rule r(x:2)\n  relu(x) => y", "r.rules:2:14: 'y' is no variable of this rule"},
      {"rule r(x:2)\n  split(x; axis=0) => x", "r.rules:2:3: 'split' has several outputs"},
      {"rule r(x:2)\n  concat(x, x; axis=2) => x",
       "r.rules:2:3: operator 'concat': axis=2 is not an axis below the rank 2"},
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
