#include <map>

#include "runtime/files/atomic_file.h"
#include "tests/check/kernel/checker_fixture.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("false rules differ at random sizes and true rules do not") {
  for (const char* text : {"rule test(a[n, n], b[n, n]) matmul(a, b) => matmul(b, a)",
                           "rule test(x:2) exp(x) => relu(x)", "rule test(x[n, m]) relu(sub(x, relu(x))) => relu(x)",
                           "rule test(x[n, c, h, w]) avg_pool(max_pool(x; kernel=3); kernel=3) => max_pool(avg_pool(x; "
                           "kernel=3); kernel=3)",
                           "rule test(x[n, 3]) softmax(add(x, x)) => softmax(x)"}) {
    const StatementFixture test(text);
    INFO(text);
    const auto found = evaluate(test.rules.front(), test.bank, test.symbols, 1);
    REQUIRE(found);
    check_contains(*found, "its sides differ at ");
  }
  for (const char* text : {"rule test(a:2, b:2, c:2) matmul(matmul(a, b), c) => matmul(a, matmul(b, c))",
                           "rule test(x:4) max_pool(relu(relu(x)); kernel=3) => max_pool(relu(x); kernel=3)"}) {
    const StatementFixture test(text);
    std::size_t tried = 0;
    CHECK_FALSE(evaluate(test.rules.front(), test.bank, test.symbols, 1, &tried));
    CHECK(tried == 3);
  }
}

TEST_CASE("sides that are defined at different points are distinguished by evaluation") {
  algebra::Library library = shipped_operators();
  algebra::TermBank bank{library};
  algebra::Symbols symbols;
  const auto found = [&](const std::string& file) {
    std::map<std::string, std::string> result;
    for (const algebra::Rule& rule : algebra::parse_rules(
             runtime::read_file(RULEMILL_SOURCE_DIR "/tests/prove/" + file), file, library, bank, symbols)) {
      const auto typed = algebra::infer_types(rule, bank, symbols);
      REQUIRE(std::holds_alternative<algebra::TypedRule>(typed));
      std::size_t tried = 0;
      result[rule.id] = evaluate(std::get<algebra::TypedRule>(typed).rule, bank, symbols, 1, &tried).value_or("");
      CHECK(tried > 0);
    }
    return result;
  };
  for (const auto& [rule, what] : found("partial_refuted.rules")) {
    INFO(rule);
    CHECK(what != "");
  }
  for (const auto& [rule, what] : found("partial.rules")) {
    INFO(rule);
    CHECK(what == "");
  }
}
