#include "algebra/rules/rule_picture.h"

#include <catch2/catch.hpp>

#include "algebra/terms/rule_text.h"
#include "algebra/terms/typing.h"
#include "tests/shipped_operators.h"

namespace rulemill::algebra {

TEST_CASE("the picture of a rule shows both sides as trees and a shared node once") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const auto rules = parse_rules(R"(
    rule merge(x[m, k], a[k, n], b[k, l])
      let s = split(matmul(x, concat(a, b; axis=1)); axis=1, at=n)
      matmul(x, a), matmul(x, b) => s.first, s.second)",
                                 "test", library, bank, symbols);
  CHECK(picture(rules.at(0), bank, symbols) ==
        "matmul      ⇒  split.first axis=1, at=n #1\n"
        "├─ x[m, k]     └─ matmul\n"
        "└─ a[k, n]        ├─ x[m, k]\n"
        "matmul            └─ concat axis=1\n"
        "├─ x[m, k]           ├─ a[k, n]\n"
        "└─ b[k, l]           └─ b[k, l]\n"
        "               split.second #1\n");
}

TEST_CASE("typed steps list each node with its output shapes") {
  Library library = shipped_operators();
  TermBank bank(library);
  Symbols symbols;
  const auto rules =
      parse_rules("rule twice(t1[m, k])\n relu(split(t1; axis=1, at=n).first) => split(relu(t1); axis=1, at=n).first",
                  "test", library, bank, symbols);
  const auto typed = infer_types(rules.at(0), bank, symbols);
  REQUIRE(std::holds_alternative<TypedRule>(typed));
  const auto& rule = std::get<TypedRule>(typed);
  CHECK(format_typed_steps(rule.rule, bank, symbols, rule.types) ==
        " %1 = split(t1; axis=1, at=n)  : first [m, n]  second [m, k - n]\n"
        " %2 = relu(%1.first)           : [m, n]\n"
        " %3 = relu(t1)                 : [m, k]\n"
        " %4 = split(%3; axis=1, at=n)  : first [m, n]  second [m, k - n]\n"
        "     %2  ⇒  %4.first\n");
}

}  // namespace rulemill::algebra
