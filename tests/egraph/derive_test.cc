#include "egraph/derive.h"

#include "egraph/check_instances.h"
#include "tests/egraph/world.h"

namespace rulemill::egraph {

using algebra::TypedRule;

namespace {

Deriver deriver_of(World& world, const std::vector<TypedRule>& core, Limits limits = {}) {
  Deriver deriver(world.bank, world.symbols, limits);
  for (const TypedRule& rule : core) deriver.add(rule);
  return deriver;
}

std::string outcome(const Derivation& derivation) {
  if (const auto* limit = std::get_if<LimitReached>(&derivation))
    return std::string("limit: ") + to_string(limit->which);
  return std::holds_alternative<Derived>(derivation) ? "derived" : "saturated";
}

}  // namespace

TEST_CASE("consequences of the axioms are derived, and the checker agrees with each explanation") {
  World world;
  const auto core = world.file("axioms.rules");
  Deriver deriver = deriver_of(world, core);
  for (const TypedRule& goal : world.file("consequences.rules")) {
    INFO(world.text(goal));
    const Derivation derivation = deriver.derive(goal);
    CHECK(outcome(derivation) == "derived");
    if (!std::holds_alternative<Derived>(derivation)) continue;
    const auto& instances = std::get<Derived>(derivation).instances;
    CHECK(!instances.empty());
    CHECK(check_instances(goal, instances, core, world.bank, world.symbols).value_or("") == "");
  }
}

TEST_CASE("after rolling back, goals leave nothing behind: answers are those of a fresh deriver") {
  World world;
  const auto core = world.file("axioms.rules");
  Deriver used = deriver_of(world, core);
  const auto terms = world.bank.mark();
  const auto sizes = world.symbols.mark();
  const Deriver::Mark mark = used.mark();
  const auto explained = [&](Deriver& deriver, const std::string& file) {
    std::vector<std::string> texts;
    for (const TypedRule& goal : world.file(file)) {
      const Derivation derivation = deriver.derive(goal);
      std::string text = outcome(derivation) + " " + std::to_string(deriver.statistics().matches);
      if (const auto* derived = std::get_if<Derived>(&derivation)) {
        for (const RuleInstance& instance : derived->instances) {
          text += "\n" + std::to_string(instance.rule);
          for (const algebra::TermId term : instance.variables)
            text += " " + algebra::to_string(term, world.bank, world.symbols);
          for (const auto& [atom, size] : instance.sizes) text += " " + world.symbols.to_string(size);
        }
      }
      texts.push_back(text);
    }
    return texts;
  };
  const auto roll_back = [&] {
    used.roll_back(mark);
    world.bank.roll_back(terms);
    world.symbols.roll_back(sizes);
  };
  const std::vector<std::string> first = explained(used, "consequences.rules");
  roll_back();
  explained(used, "no_consequences.rules");
  used.add(world.rule("rule add_commutes_again(x[m, n], y[m, n]) add(x, y) => add(y, x)"));
  roll_back();
  CHECK(used.rule_count() == core.size());
  CHECK(world.bank.term_count() == terms.terms);
  CHECK(world.symbols.mark().entries == sizes.entries);
  CHECK(explained(used, "consequences.rules") == first);
}

TEST_CASE("what does not follow from the axioms saturates without being derived") {
  World world;
  Deriver deriver = deriver_of(world, world.file("axioms.rules"));
  for (const TypedRule& goal : world.file("no_consequences.rules")) {
    INFO(world.text(goal));
    CHECK(outcome(deriver.derive(goal)) == "saturated");
  }
}

TEST_CASE("every axiom follows from itself in one step, and not one of them from nothing") {
  World world;
  const auto core = world.file("axioms.rules");
  Deriver deriver = deriver_of(world, core);
  const Deriver empty(world.bank, world.symbols);
  for (std::uint32_t i = 0; i < core.size(); ++i) {
    INFO(world.text(core[i]));
    for (std::uint32_t j = 0; j < core.size(); ++j) deriver.enable(j, i == j);
    const Derivation derivation = deriver.derive(core[i]);
    REQUIRE(outcome(derivation) == "derived");
    CHECK(std::get<Derived>(derivation).instances.size() == 1);
    deriver.enable(i, false);
    CHECK(outcome(deriver.derive(core[i])) == "saturated");
  }
}

TEST_CASE("a rule out of use implies nothing") {
  World world;
  const auto core = world.file("axioms.rules");
  Deriver deriver = deriver_of(world, core);
  const TypedRule goal = world.rule(R"(
    rule goal(a:2, b:2, c:2)
      relu(matmul(a, matmul(b, c))) => relu(matmul(matmul(a, b), c)))");
  REQUIRE(outcome(deriver.derive(goal)) == "derived");
  deriver.enable(0, false);
  CHECK(outcome(deriver.derive(goal)) == "saturated");
  deriver.enable(0, true);
  CHECK(outcome(deriver.derive(goal)) == "derived");
}

TEST_CASE("limits are told apart from saturation") {
  World world;
  const auto core = world.file("axioms.rules");
  const auto goals = world.file("consequences.rules");
  const auto find = [&](const std::string& id) {
    for (const TypedRule& goal : goals) {
      if (goal.rule.id == id) return goal;
    }
    throw std::runtime_error(id);
  };
  const TypedRule goal = find("merge_products_then_relu");
  CHECK(outcome(deriver_of(world, core).derive(goal)) == "derived");
  CHECK(outcome(deriver_of(world, core, {.iterations = 1}).derive(goal)) == "limit: iterations");
  CHECK(outcome(deriver_of(world, core, {.nodes = 8}).derive(goal)) == "limit: nodes");
  CHECK(outcome(deriver_of(world, core, {.matches = 2}).derive(goal)) == "limit: matches");
}

TEST_CASE("where matches of a rule were left out, nothing is said to be saturated") {
  World world;
  const auto core = world.rules("rule twice(a[m]) relu(relu(a)) => relu(a)");
  const TypedRule goal = world.rule("rule goal(a[m], b[m]) add(relu(relu(a)), relu(relu(b))) => add(relu(a), relu(b))");
  const TypedRule wrong = world.rule("rule wrong(a[m], b[m]) add(relu(relu(a)), relu(relu(b))) => add(relu(a), b)");
  CHECK(outcome(deriver_of(world, core).derive(goal)) == "derived");
  CHECK(outcome(deriver_of(world, core).derive(wrong)) == "saturated");
  for (const Limits& limits : {Limits{.matches_each = 1}, Limits{.tries_each = 1}}) {
    CHECK(outcome(deriver_of(world, core, limits).derive(goal)) == "limit: matches");
    CHECK(outcome(deriver_of(world, core, limits).derive(wrong)) == "limit: matches");
  }
}

TEST_CASE("a multi-output rule is used wherever its two sides' outputs occur") {
  World world;
  const auto core = world.rules(R"(
    rule merge(x[m, k], a[k, n], b[k, l])
      let s = split(matmul(x, concat(a, b; axis=1)); axis=1, at=n)
      matmul(x, a), matmul(x, b) => s.first, s.second)");
  Deriver deriver = deriver_of(world, core);
  const TypedRule goal = world.rule(R"(
    rule goal(x[m, k], a[k, n], b[k, n])
      let s = split(matmul(x, concat(b, a; axis=1)); axis=1, at=n)
      sub(matmul(x, a), relu(matmul(x, b))) => sub(s.second, relu(s.first)))");
  const Derivation derivation = deriver.derive(goal);
  REQUIRE(outcome(derivation) == "derived");
  CHECK(!check_instances(goal, std::get<Derived>(derivation).instances, core, world.bank, world.symbols));
  // Both outputs must be of one node.
  CHECK(outcome(deriver.derive(world.rule(R"(
    rule wrong(x[m, k], y[m, k], a[k, n], b[k, n])
      let s = split(matmul(x, concat(b, a; axis=1)); axis=1, at=n)
      sub(matmul(x, a), relu(matmul(y, b))) => sub(s.second, relu(s.first)))"))) != "derived");
}

TEST_CASE("a rule applies only where its condition on sizes holds") {
  World world;
  const auto core = world.rules(R"(
    rule wide(a[m, n])
      relu(sigmoid(a)) => sigmoid(a)
      when n = 2*m
    rule narrow(a[m, n])
      tanh(sigmoid(a)) => sigmoid(a)
      when n < m)");
  Deriver deriver = deriver_of(world, core);
  const auto ask = [&](const std::string& text) { return outcome(deriver.derive(world.rule(text))); };
  CHECK(ask("rule g(a[m, 2*m]) relu(sigmoid(a)) => sigmoid(a)") == "derived");
  CHECK(ask("rule g(a[p, q]) relu(sigmoid(a)) => sigmoid(a) when q = 2*p") == "derived");
  CHECK(ask("rule g(a[3, 6]) relu(sigmoid(a)) => sigmoid(a)") == "derived");
  CHECK(ask("rule g(a[m, n]) relu(sigmoid(a)) => sigmoid(a)") == "saturated");
  CHECK(ask("rule g(a[3, 5]) relu(sigmoid(a)) => sigmoid(a)") == "saturated");
  CHECK(ask("rule g(a[n + 1, n]) tanh(sigmoid(a)) => sigmoid(a)") == "derived");
  CHECK(ask("rule g(a[m, n]) tanh(sigmoid(a)) => sigmoid(a) when n < m") == "derived");
  CHECK(ask("rule g(a[m, n]) tanh(sigmoid(a)) => sigmoid(a) when n <= m") == "saturated");
}

TEST_CASE("the checker refuses what does not imply the goal, does not type, or breaks a condition") {
  World world;
  const auto core = world.rules(R"(
    rule right(a:2, b:2, c:2)
      matmul(a, add(b, c)) => add(matmul(a, b), matmul(a, c))
    rule left(a:2, b:2, c:2)
      matmul(add(a, b), c) => add(matmul(a, c), matmul(b, c))
    rule wide(a[m, n])
      relu(a) => tanh(a)
      when n = 2*m)");
  Deriver deriver = deriver_of(world, core);
  const TypedRule goal = world.rule(R"(
    rule goal(a[m, k], b[m, k], c[k, n], d[k, n])
      matmul(add(a, b), add(c, d)) => add(add(matmul(a, c), matmul(a, d)), add(matmul(b, c), matmul(b, d))))");
  const Derivation derivation = deriver.derive(goal);
  REQUIRE(outcome(derivation) == "derived");
  const std::vector<RuleInstance> good = std::get<Derived>(derivation).instances;
  const auto check = [&](const std::vector<RuleInstance>& instances) {
    return check_instances(goal, instances, core, world.bank, world.symbols).value_or("");
  };
  REQUIRE(check(good) == "");
  CHECK(good.size() == 3);
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto fewer = good;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK_THAT(check(fewer), Catch::Contains("do not imply"));
  }
  auto wrong = good;
  std::swap(wrong[0].variables[0], wrong[0].variables[2]);
  CHECK_THAT(check(wrong), Catch::Contains("rule instance 1: ") && Catch::Contains("has shape"));
  wrong = good;
  wrong[1].rule = 7;
  CHECK_THAT(check(wrong), Catch::Contains("no rule number 7"));
  wrong = good;
  wrong[1].sizes.pop_back();
  CHECK_THAT(check(wrong), Catch::Contains("no value for size"));
  wrong = good;
  wrong[0].sizes[0].second = algebra::Poly(0);
  CHECK_THAT(check(wrong), Catch::Contains("at least 1"));
  wrong = good;
  const algebra::TypedRule& wide = core[2];
  RuleInstance beyond{2, {goal.rule.variables[0]}, {}};
  for (std::size_t d = 0; d < 2; ++d) {
    beyond.sizes.emplace_back(*wide.rule.shapes[0][d].atom(), goal.rule.shapes[0][d]);
  }
  wrong.push_back(beyond);
  CHECK_THAT(check(wrong), Catch::Contains("rule instance 4"));
}

TEST_CASE("rules that make tensors beyond 64 bits end a derivation as a limit does, or are not applied there") {
  World world;
  Deriver deriver = deriver_of(world, world.rules(R"(
rule twice(x[m, n])
  relu(x) => split(concat(relu(x), relu(x); axis=0); axis=0, at=m).first
rule together(x[m, n], y[k, n])
  concat(relu(x), relu(y); axis=0) => relu(concat(x, y; axis=0))
)"),
                               {.extra_operators = 8});
  for (const std::string size : {"8", "1073741824*1073741824*2", "a*b*c*d*e*f*g*h*i"}) {
    INFO(size);
    const TypedRule goal = world.rule("rule goal(x[" + size + ", n])\n  relu(relu(x)) => relu(x)\n");
    CHECK(outcome(deriver.derive(goal)) != "derived");
  }
}

}  // namespace rulemill::egraph
