#include <map>
#include <random>

#include "runtime/files/atomic_file.h"
#include "tests/check/kernel/checker_fixture.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

/// Random sizes from 1 to 4, or around a number.
std::vector<SizesByName> some_sizes(const algebra::Rule& rule, const algebra::TermBank& bank,
                                    const algebra::Symbols& symbols, std::int64_t around = 0) {
  std::vector<SizesByName> all(60);
  std::mt19937_64 random(1);
  for (SizesByName& sizes : all) {
    for (const std::string& name : algebra::used_size_names(rule, bank, symbols))
      sizes[name] = around + 1 + static_cast<std::int64_t>(random() % 4);
  }
  return all;
}

Evaluation evaluate_some(const algebra::Rule& rule, const algebra::TermBank& bank, const algebra::Symbols& symbols,
                         std::int64_t around = 0) {
  return evaluate(rule, bank, symbols, some_sizes(rule, bank, symbols, around), 1);
}

}  // namespace

TEST_CASE("false rules differ at random sizes and true rules do not") {
  for (const char* text : {"rule test(a[n, n], b[n, n]) matmul(a, b) => matmul(b, a)",
                           "rule test(x:2) exp(x) => relu(x)", "rule test(x[n, m]) relu(sub(x, relu(x))) => relu(x)",
                           "rule test(x[n, c, h, w]) avg_pool(max_pool(x; kernel=3); kernel=3) => max_pool(avg_pool(x; "
                           "kernel=3); kernel=3)",
                           "rule test(x[n, 3]) softmax(add(x, x)) => softmax(x)"}) {
    const StatementFixture test(text);
    INFO(text);
    check_contains(evaluate_some(test.rules.front(), test.bank, test.symbols).difference.value_or(""),
                   "its sides differ at ");
  }
  for (const char* text : {"rule test(a:2, b:2, c:2) matmul(matmul(a, b), c) => matmul(a, matmul(b, c))",
                           "rule test(x:4) max_pool(relu(relu(x)); kernel=3) => max_pool(relu(x); kernel=3)",
                           "rule test(x[m]) mul(number_of_truth(equal_to(log(exp(x)), x)), x) => x",
                           "rule test(x[m]) sign(sub(log(exp(x)), x)) => zeros(; d=[m])",
                           "rule test(x[m], y[m]) div(y, sub(log(exp(x)), x)) => div(y, sub(x, log(exp(x))))"}) {
    const StatementFixture test(text);
    const Evaluation found = evaluate_some(test.rules.front(), test.bank, test.symbols);
    INFO(text << found.difference.value_or("") << found.obstacle);
    CHECK_FALSE(found.difference);
    CHECK(found.evaluated == 3);
  }
}

TEST_CASE("of large tensors some elements are compared") {
  const std::pair<const char*, const char*> rules[] = {
      {"rule t(x[n]) add(x, x) => x when 4000 <= n", "its sides differ"},
      {"rule t(x[n]) add(x, x) => scale(x, two()) when 4000 <= n", ""},
      {"rule t(v[]) reduce_sum(slice(fill(v; d=[n]); axis=0, from=0, step=2, to=n); axes=[0]) => "
       "reduce_sum(fill(v; d=[n]); axes=[0]) when 4000 <= n",
       "its sides differ"},
      {"rule t(x[m, n]) reduce_sum(relu(x); axes=[0]) => reduce_sum(relu(relu(x)); axes=[0]) when 4000 <= n", ""},
      {"rule t(x[m, n], y[n, k]) matmul(x, y) => matmul(x, relu(y)) when 4000 <= n", "its sides differ"}};
  for (const auto& [text, difference] : rules) {
    INFO(text);
    const StatementFixture test(text);
    const Evaluation found = evaluate_some(test.rules.front(), test.bank, test.symbols, 5000);
    check_contains(found.difference.value_or(""), difference);
    CHECK((found.difference.has_value() || found.evaluated == 3));
  }
}

TEST_CASE("a rule that is not evaluated states what prevents it") {
  const StatementFixture small("rule t(x[n]) relu(x) => x when n <= 2");
  CHECK(evaluate_some(small.rules.front(), small.bank, small.symbols, 2).obstacle ==
        "no sizes were found at which it applies");
  const StatementFixture large("rule t(x[n, n, n]) reduce_sum_all(x) => reduce_sum_all(relu(x))");
  const std::vector<SizesByName> sizes{{{"n", 5000}}};
  check_contains(evaluate(large.rules.front(), large.bank, large.symbols, sizes, 1).obstacle,
                 "too expensive at n = 5000");
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
      const Evaluation evaluation = evaluate_some(std::get<algebra::TypedRule>(typed).rule, bank, symbols);
      result[rule.id] = evaluation.difference.value_or("");
      CHECK((evaluation.difference || evaluation.evaluated > 0));
    }
    return result;
  };
  for (const char* file : {"partial_refuted.rules", "widening_refuted.rules"}) {
    for (const auto& [rule, what] : found(file)) {
      INFO(rule);
      CHECK(what != "");
    }
  }
  for (const char* file : {"partial.rules", "widening.rules"}) {
    for (const auto& [rule, what] : found(file)) {
      INFO(rule);
      CHECK(what == "");
    }
  }
}
