#include "egraph/derive.h"

#include "tests/egraph/rule_fixture.h"

namespace rulemill::egraph {

using algebra::TypedRule;

namespace {

Deriver make_deriver(RuleFixture& fixture, const std::vector<TypedRule>& core, Limits limits = {}) {
  Deriver deriver(fixture.bank, fixture.symbols, limits);
  for (const TypedRule& rule : core) deriver.add(rule);
  return deriver;
}

std::string describe(const Derivation& derivation) {
  if (const auto* limit = std::get_if<LimitReached>(&derivation))
    return std::string("limit: ") + to_string(limit->kind);
  return std::holds_alternative<Derived>(derivation) ? "derived" : "saturated";
}

}  // namespace

TEST_CASE("consequences of the axioms are derived with an explanation") {
  RuleFixture fixture;
  const auto core = fixture.file("axioms.rules");
  Deriver deriver = make_deriver(fixture, core);
  for (const TypedRule& goal : fixture.file("consequences.rules")) {
    INFO(fixture.text(goal));
    const Derivation derivation = deriver.derive(goal);
    CHECK(describe(derivation) == "derived");
    if (!std::holds_alternative<Derived>(derivation)) continue;
    const auto& instances = std::get<Derived>(derivation).instances;
    CHECK(!instances.empty());
  }
}

TEST_CASE("a rule that widens is no equation: nothing follows from it, and it does not follow") {
  RuleFixture fixture;
  const auto widening = fixture.rules("rule w(x[m, n]) exp(log(x)) -> x");
  const auto goals = fixture.rules(R"(
rule itself(x[m, n]) exp(log(x)) => x
rule reversed(x[m, n]) x => exp(log(x))
rule within(x[m, n], y[n, k]) matmul(exp(log(x)), y) => matmul(x, y)
rule widening(x[m, n]) exp(log(x)) -> x
)");
  Deriver deriver = make_deriver(fixture, widening);
  for (const TypedRule& goal : goals) {
    INFO(fixture.text(goal));
    CHECK(describe(deriver.derive(goal)) == "saturated");
  }
  Deriver of_equations = make_deriver(fixture, {goals[0]});
  CHECK(describe(of_equations.derive(goals[2])) == "derived");
  CHECK(describe(of_equations.derive(goals[3])) == "saturated");
}

TEST_CASE("rolling back makes answers independent of earlier goals") {
  RuleFixture fixture;
  const auto core = fixture.file("axioms.rules");
  Deriver used = make_deriver(fixture, core);
  const auto terms = fixture.bank.mark();
  const auto sizes = fixture.symbols.mark();
  const Deriver::Mark mark = used.mark();
  const auto explained = [&](Deriver& deriver, const std::string& file) {
    std::vector<std::string> texts;
    for (const TypedRule& goal : fixture.file(file)) {
      const Derivation derivation = deriver.derive(goal);
      std::string text = describe(derivation) + " " + std::to_string(deriver.statistics().matches);
      if (const auto* derived = std::get_if<Derived>(&derivation)) {
        for (const RuleInstance& instance : derived->instances) {
          text += "\n" + std::to_string(instance.rule);
          for (const algebra::TermId term : instance.variables)
            text += " " + algebra::to_string(term, fixture.bank, fixture.symbols);
          for (const auto& [atom, size] : instance.sizes) text += " " + fixture.symbols.to_string(size);
        }
      }
      texts.push_back(text);
    }
    return texts;
  };
  const auto roll_back = [&] {
    used.roll_back(mark);
    fixture.bank.roll_back(terms);
    fixture.symbols.roll_back(sizes);
  };
  const std::vector<std::string> first = explained(used, "consequences.rules");
  roll_back();
  explained(used, "no_consequences.rules");
  used.add(fixture.rule("rule add_commutes_again(x[m, n], y[m, n]) add(x, y) => add(y, x)"));
  roll_back();
  CHECK(used.rule_count() == core.size());
  CHECK(fixture.bank.term_count() == terms.terms);
  CHECK(fixture.symbols.mark().atoms == sizes.atoms);
  CHECK(explained(used, "consequences.rules") == first);
}

TEST_CASE("a goal that the axioms do not imply saturates") {
  RuleFixture fixture;
  Deriver deriver = make_deriver(fixture, fixture.file("axioms.rules"));
  for (const TypedRule& goal : fixture.file("no_consequences.rules")) {
    INFO(fixture.text(goal));
    CHECK(describe(deriver.derive(goal)) == "saturated");
  }
}

TEST_CASE("every axiom is derived from itself by one rule instance, and none from an empty core") {
  RuleFixture fixture;
  const auto core = fixture.file("axioms.rules");
  Deriver deriver = make_deriver(fixture, core);
  const Deriver empty(fixture.bank, fixture.symbols);
  for (std::uint32_t i = 0; i < core.size(); ++i) {
    INFO(fixture.text(core[i]));
    for (std::uint32_t j = 0; j < core.size(); ++j) deriver.enable(j, i == j);
    const Derivation derivation = deriver.derive(core[i]);
    REQUIRE(describe(derivation) == "derived");
    CHECK(std::get<Derived>(derivation).instances.size() == 1);
    deriver.enable(i, false);
    CHECK(describe(deriver.derive(core[i])) == "saturated");
  }
}

TEST_CASE("a disabled rule is not used") {
  RuleFixture fixture;
  const auto core = fixture.file("axioms.rules");
  Deriver deriver = make_deriver(fixture, core);
  const TypedRule goal = fixture.rule(R"(
    rule goal(a:2, b:2, c:2)
      relu(matmul(a, matmul(b, c))) => relu(matmul(matmul(a, b), c)))");
  REQUIRE(describe(deriver.derive(goal)) == "derived");
  deriver.enable(0, false);
  CHECK(describe(deriver.derive(goal)) == "saturated");
  deriver.enable(0, true);
  CHECK(describe(deriver.derive(goal)) == "derived");
}

TEST_CASE("each limit is reported as the stop reason") {
  RuleFixture fixture;
  const auto core = fixture.file("axioms.rules");
  const auto goals = fixture.file("consequences.rules");
  const auto find = [&](const std::string& id) {
    for (const TypedRule& goal : goals) {
      if (goal.rule.id == id) return goal;
    }
    throw std::runtime_error(id);
  };
  const TypedRule goal = find("merge_products_then_relu");
  CHECK(describe(make_deriver(fixture, core).derive(goal)) == "derived");
  CHECK(describe(make_deriver(fixture, core, {.iterations = 1}).derive(goal)) == "limit: iterations");
  CHECK(describe(make_deriver(fixture, core, {.nodes = 8}).derive(goal)) == "limit: nodes");
  CHECK(describe(make_deriver(fixture, core, {.matches = 2}).derive(goal)) == "limit: matches");
}

TEST_CASE("a search with omitted matches is not reported as saturated") {
  RuleFixture fixture;
  const auto core = fixture.rules("rule twice(a[m]) relu(relu(a)) => relu(a)");
  const TypedRule goal =
      fixture.rule("rule goal(a[m], b[m]) add(relu(relu(a)), relu(relu(b))) => add(relu(a), relu(b))");
  const TypedRule wrong = fixture.rule("rule wrong(a[m], b[m]) add(relu(relu(a)), relu(relu(b))) => add(relu(a), b)");
  CHECK(describe(make_deriver(fixture, core).derive(goal)) == "derived");
  CHECK(describe(make_deriver(fixture, core).derive(wrong)) == "saturated");
  for (const Limits& limits : {Limits{.matches_per_rule = 1}, Limits{.node_visits_per_rule = 1}}) {
    CHECK(describe(make_deriver(fixture, core, limits).derive(goal)) == "limit: matches");
    CHECK(describe(make_deriver(fixture, core, limits).derive(wrong)) == "limit: matches");
  }
}

TEST_CASE("a multi-output rule applies only if its outputs belong to one node") {
  RuleFixture fixture;
  const auto core = fixture.rules(R"(
    rule merge(x[m, k], a[k, n], b[k, l])
      let s = split(matmul(x, concat(a, b; axis=1)); axis=1, at=n)
      matmul(x, a), matmul(x, b) => s.first, s.second)");
  Deriver deriver = make_deriver(fixture, core);
  const TypedRule goal = fixture.rule(R"(
    rule goal(x[m, k], a[k, n], b[k, n])
      let s = split(matmul(x, concat(b, a; axis=1)); axis=1, at=n)
      sub(matmul(x, a), relu(matmul(x, b))) => sub(s.second, relu(s.first)))");
  const Derivation derivation = deriver.derive(goal);
  REQUIRE(describe(derivation) == "derived");

  // Both outputs must be of one node.
  CHECK(describe(deriver.derive(fixture.rule(R"(
    rule wrong(x[m, k], y[m, k], a[k, n], b[k, n])
      let s = split(matmul(x, concat(b, a; axis=1)); axis=1, at=n)
      sub(matmul(x, a), relu(matmul(y, b))) => sub(s.second, relu(s.first)))"))) != "derived");
}

TEST_CASE("a rule applies only where its condition on sizes holds") {
  RuleFixture fixture;
  const auto core = fixture.rules(R"(
    rule wide(a[m, n])
      relu(sigmoid(a)) => sigmoid(a)
      when n = 2*m
    rule narrow(a[m, n])
      tanh(sigmoid(a)) => sigmoid(a)
      when n < m)");
  Deriver deriver = make_deriver(fixture, core);
  const auto derive = [&](const std::string& text) { return describe(deriver.derive(fixture.rule(text))); };
  CHECK(derive("rule g(a[m, 2*m]) relu(sigmoid(a)) => sigmoid(a)") == "derived");
  CHECK(derive("rule g(a[p, q]) relu(sigmoid(a)) => sigmoid(a) when q = 2*p") == "derived");
  CHECK(derive("rule g(a[3, 6]) relu(sigmoid(a)) => sigmoid(a)") == "derived");
  CHECK(derive("rule g(a[m, n]) relu(sigmoid(a)) => sigmoid(a)") == "saturated");
  CHECK(derive("rule g(a[3, 5]) relu(sigmoid(a)) => sigmoid(a)") == "saturated");
  CHECK(derive("rule g(a[n + 1, n]) tanh(sigmoid(a)) => sigmoid(a)") == "derived");
  CHECK(derive("rule g(a[m, n]) tanh(sigmoid(a)) => sigmoid(a) when n < m") == "derived");
  CHECK(derive("rule g(a[m, n]) tanh(sigmoid(a)) => sigmoid(a) when n <= m") == "saturated");
}

TEST_CASE("an explanation contains the required rule instances only") {
  RuleFixture fixture;
  const auto core = fixture.rules(R"(
    rule right(a:2, b:2, c:2)
      matmul(a, add(b, c)) => add(matmul(a, b), matmul(a, c))
    rule left(a:2, b:2, c:2)
      matmul(add(a, b), c) => add(matmul(a, c), matmul(b, c))
    rule relu_twice(a:2)
      relu(relu(a)) => relu(a))");
  const TypedRule goal = fixture.rule(R"(
    rule goal(a[m, k], b[m, k], c[k, n], d[k, n])
      matmul(add(a, b), add(c, d)) => add(add(matmul(a, c), matmul(a, d)), add(matmul(b, c), matmul(b, d))))");
  const Derivation derivation = make_deriver(fixture, core).derive(goal);
  REQUIRE(describe(derivation) == "derived");
  CHECK(std::get<Derived>(derivation).instances.size() == 3);
}

TEST_CASE("rules that create tensors beyond 64 bits reach a limit or are not applied") {
  RuleFixture fixture;
  Deriver deriver = make_deriver(fixture, fixture.rules(R"(
rule twice(x[m, n])
  relu(x) => split(concat(relu(x), relu(x); axis=0); axis=0, at=m).first
rule relu_of_concat(x[m, n], y[k, n])
  concat(relu(x), relu(y); axis=0) => relu(concat(x, y; axis=0))
)"),
                                 {.max_growth_over_goal = 8});
  for (const std::string size : {"8", "1073741824*1073741824*2", "a*b*c*d*e*f*g*h*i"}) {
    INFO(size);
    const TypedRule goal = fixture.rule("rule goal(x[" + size + ", n])\n  relu(relu(x)) => relu(x)\n");
    CHECK(describe(deriver.derive(goal)) != "derived");
  }
}

}  // namespace rulemill::egraph
