#include "check/kernel/statement.h"

#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

/// The error for a rule that differs from a typed one by the change.
template <class Change>
std::string error_after(const Change& change) {
  CheckerFixture fixture;
  algebra::Rule rule = fixture.rule("rule test(x[m, n]) relu(relu(x)) => relu(x)");
  change(rule);
  try {
    Statement(fixture.core(rule), fixture.atoms);
  } catch (const CheckError& error) {
    return error.what;
  }
  return "";
}

}  // namespace

TEST_CASE("the condition of a rule is an assumption") {
  StatementFixture test("rule test(x[m, n]) relu(x) => tanh(x) when m < n");
  const Poly m = test.atoms.size("m"), n = test.atoms.size("n");
  CHECK(test.statement->facts() == Guards{{false, n - m - 1}});
  for (const Guard& goal : test.statement->target_obligations())
    CHECK(is_trivial({"", test.statement->facts(), goal, {}}, test.atoms));
}

TEST_CASE("the ranges of an output's indices are its dimensions") {
  StatementFixture test("rule test(x[m, n]) transpose(x; perm=[1, 0]) => transpose(x; perm=[1, 0])");
  std::string text;
  for (const Guard& guard : test.statement->index_ranges(0)) text += "[" + test.atoms.text(guard) + "]";
  CHECK(text == "[@0 >= 0][-1 - @0 + n >= 0][@1 >= 0][-1 - @1 + m >= 0]");
}

TEST_CASE("definedness conditions of nodes in both sides come after a side's own") {
  StatementFixture same("rule test(x[n]) recip(x) => recip(x)");
  CHECK(same.statement->definedness_conditions(false).own_count == 0);
  CHECK(same.statement->definedness_conditions(false).all.size() == 1);
  StatementFixture other("rule test(x[n]) recip(neg(x)) => neg(recip(x))");
  CHECK(other.statement->definedness_conditions(false).own_count == 1);
  CHECK(other.statement->definedness_conditions(true).own_count == 1);
}

TEST_CASE("for a derivation, elements are lowered only if a definition applies a partial function") {
  const auto divisors = [](const std::string& text, std::size_t conditions, Statement::Lower when) {
    CheckerFixture fixture;
    const algebra::Rule& rule = fixture.rule(text);
    const Statement statement(fixture.core(rule), fixture.atoms, when);
    CHECK(statement.definedness_conditions(false).own_count == conditions);
    return fixture.atoms.divisors();
  };
  const std::string total = "rule test(x[m, n], y[m, n]) mean_last(add(x, y)) => add(mean_last(x), mean_last(y))";
  const std::string partial = "rule test(x[m, n]) recip(mean_last(neg(x))) => neg(recip(mean_last(x)))";
  CHECK(divisors(total, 0, Statement::Lower::Always).size() == 1);
  CHECK(divisors(total, 0, Statement::Lower::IfPartial).empty());
  CHECK(divisors(partial, 1, Statement::Lower::IfPartial).size() == 1);
}

TEST_CASE("a malformed rule is refused") {
  CHECK(error_after([](algebra::Rule&) {}) == "");
  CHECK(error_after([](algebra::Rule& rule) { rule.shapes.clear(); }) == "the variables have no shapes");
  CHECK(error_after([](algebra::Rule& rule) { rule.target.clear(); }) == "the sides have different numbers of outputs");
  check_contains(error_after([](algebra::Rule& rule) { rule.variables.clear(), rule.shapes.clear(); }), "not declared");
}
