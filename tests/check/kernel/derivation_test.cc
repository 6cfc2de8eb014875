// What the checker believes of a derivation: instances that type and meet their conditions, and nothing of who found
// them.
#include "check/kernel/derivation.h"

#include <algorithm>

#include "tests/check/kernel/rules_at_hand.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

/// A goal over matrices and vectors, and rules that it may be derived from.
struct Case : RulesAtHand {
  std::string head;
  std::unique_ptr<Statement> goal;

  explicit Case(const std::string& text) : head(text.substr(0, text.find(')') + 1)) {
    goal = std::make_unique<Statement>(rule(text), bank, symbols, atoms);
  }

  /// An instance at terms over the goal's variables; sizes by name are polynomials of two of the goal's sizes.
  RuleInstance instance(const algebra::Rule& of, const std::string& terms, std::map<std::string, Poly> sizes) {
    const std::string text = head + " " + terms + " => " + terms;
    return {&of, algebra::parse_rules(text, "test", library, bank, symbols).at(0).source, std::move(sizes)};
  }
  Poly size(const std::string& name) { return Poly(symbols.size(name)); }

  /// The goals that are left to a solver, or the objection.
  std::string left(const std::vector<RuleInstance>& instances) {
    try {
      std::string text;
      for (const Obligation& obligation : derive(*goal, instances, symbols, {}).obligations)
        text += atoms.text(*obligation.goal) + "\n";
      return text;
    } catch (const Objection& found) {
      return found.what;
    } catch (const runtime::InputError& found) {
      return found.what();
    }
  }
};

}  // namespace

TEST_CASE("instances must type at the goal's sizes") {
  Case test("rule goal(a[m, k], b[k, n], c[k, n]) matmul(a, add(b, c)) => add(matmul(a, c), matmul(a, b))");
  const algebra::Rule& right =
      test.rule("rule right(x[p, q], y[q, r], z[q, r]) matmul(x, add(y, z)) => add(matmul(x, y), matmul(x, z))");
  const Poly m = test.size("m"), k = test.size("k"), n = test.size("n");
  const auto at = [&](const std::string& terms, const Poly& p, const Poly& q, const Poly& r) {
    return test.left({test.instance(right, terms, {{"p", p}, {"q", q}, {"r", r}})});
  };
  CHECK(at("a, b, c", m, k, n).empty());
  CHECK(at("a, b, add(c, c)", m, k, n).empty());
  check_has(at("a, b, c", m, k, n + 1), "-1 = 0");
  check_has(at("a, b, c", m, k, m), "-m + n = 0");
  check_has(at("a, b, c", m, k, n - 1), "n >= 0");  // a size of n - 1 is not positive
  check_has(at("b, a, c", k, n, n), "= 0");
  check_has(test.left({test.instance(right, "a, b, c", {{"p", m}, {"q", k}})}), "no value for size r");
  check_has(test.left({test.instance(right, "a, b", {{"p", m}, {"q", k}, {"r", n}})}), "number of variables");
  const std::string script = derive(*test.goal, {}, test.symbols, {}).script;
  CHECK(std::ranges::count(script, '=') == 1 + 2);  // the goal's, and that sums commute
}

TEST_CASE("instances must meet their conditions, which follow from the goal's or not") {
  const std::string goal = "rule goal(a[m, n]) relu(a) => tanh(a)";
  const std::string wide = "rule wide(x[p, q]) relu(x) => tanh(x) when q = 2*p";
  const auto left = [&](const std::string& condition) {
    Case test(goal + condition);
    const algebra::Rule& rule = test.rule(wide);
    return test.left({test.instance(rule, "a", {{"p", test.size("m")}, {"q", test.size("n")}})});
  };
  check_has(left(""), "= 0");
  CHECK(left(" when n = 2*m").empty());
  check_has(left(" when n = 3*m"), "= 0");
  check_has(left(" when 2*m <= n"), "= 0");
}
