#include "check/kernel/derivation.h"

#include <algorithm>

#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

/// A goal over matrices and vectors, and rules from which it may be derived.
struct DerivationFixture : CheckerFixture {
  std::string head;
  std::unique_ptr<Statement> goal;

  explicit DerivationFixture(const std::string& text) : head(text.substr(0, text.find(')') + 1)) {
    goal = std::make_unique<Statement>(rule(text), bank, symbols, atoms);
  }

  /// An instance at terms over the goal's variables; its sizes are polynomials in the goal's sizes.
  RuleInstance instance(const algebra::Rule& general, const std::string& terms, std::map<std::string, Poly> sizes) {
    const std::string text = head + " " + terms + " => " + terms;
    return {&general, algebra::parse_rules(text, "test", library, bank, symbols).at(0).source, std::move(sizes)};
  }
  Poly size(const std::string& name) { return Poly(symbols.size(name)); }

  /// The goals of the obligations, or the error.
  std::string outcome(const std::vector<RuleInstance>& instances) {
    try {
      std::string text;
      for (const Obligation& obligation : check_derivation(*goal, instances, symbols, {}).obligations)
        text += atoms.text(*obligation.goal) + "\n";
      return text;
    } catch (const CheckError& error) {
      return error.what;
    } catch (const runtime::InputError& error) {
      return error.what();
    }
  }
};

}  // namespace

TEST_CASE("rule instances must be well-typed at the goal's sizes") {
  DerivationFixture test(
      "rule goal(a[m, k], b[k, n], c[k, n]) matmul(a, add(b, c)) => add(matmul(a, c), matmul(a, b))");
  const algebra::Rule& right =
      test.rule("rule right(x[p, q], y[q, r], z[q, r]) matmul(x, add(y, z)) => add(matmul(x, y), matmul(x, z))");
  const Poly m = test.size("m"), k = test.size("k"), n = test.size("n");
  const auto at = [&](const std::string& terms, const Poly& p, const Poly& q, const Poly& r) {
    return test.outcome({test.instance(right, terms, {{"p", p}, {"q", q}, {"r", r}})});
  };
  CHECK(at("a, b, c", m, k, n).empty());
  CHECK(at("a, b, add(c, c)", m, k, n).empty());
  check_contains(at("a, b, c", m, k, n + 1), "-1 = 0");
  check_contains(at("a, b, c", m, k, m), "-m + n = 0");
  check_contains(at("a, b, c", m, k, n - 1), "n >= 0");  // a size of n - 1 is not positive
  check_contains(at("b, a, c", k, n, n), "= 0");
  check_contains(test.outcome({test.instance(right, "a, b, c", {{"p", m}, {"q", k}})}), "no value for size r");
  check_contains(test.outcome({test.instance(right, "a, b", {{"p", m}, {"q", k}, {"r", n}})}), "number of variables");
  const std::string script = check_derivation(*test.goal, {}, test.symbols, {}).script;
  CHECK(std::ranges::count(script, '=') == 1 + 2);  // the goal's, and the commutativity of sums
}

TEST_CASE("the condition of a rule instance must follow from the goal's condition") {
  const std::string goal = "rule goal(a[m, n]) relu(a) => tanh(a)";
  const std::string wide = "rule wide(x[p, q]) relu(x) => tanh(x) when q = 2*p";
  const auto outcome = [&](const std::string& condition) {
    DerivationFixture test(goal + condition);
    const algebra::Rule& rule = test.rule(wide);
    return test.outcome({test.instance(rule, "a", {{"p", test.size("m")}, {"q", test.size("n")}})});
  };
  check_contains(outcome(""), "= 0");
  CHECK(outcome(" when n = 2*m").empty());
  check_contains(outcome(" when n = 3*m"), "= 0");
  check_contains(outcome(" when 2*m <= n"), "= 0");
}
