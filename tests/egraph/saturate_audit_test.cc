// Saturated e-graphs evaluated against the definitions.
#include "tests/egraph/audit.h"

#include "tests/egraph/world.h"

namespace rulemill::egraph {

using algebra::TypedRule;

namespace {

struct Audited {
  std::string wrong;
  std::size_t compared = 0;
  Saturation::Outcome outcome{};
  bool complete = false;  // another run, which looks at everything again, adds nothing
};

/// Saturates from the goal's terms with no goal to stop at, then evaluates, some times over.
Audited audit(World& world, const std::vector<TypedRule>& core, const TypedRule& goal) {
  SizeTable sizes(world.library, world.symbols);
  CanonicalSizes names(world.symbols);
  RuleIndex index;
  for (const TypedRule& rule : core) index.add(compile(rule, world.bank, sizes));
  EGraph egraph(world.library, sizes);
  const Goal put(goal, world.bank, names, egraph);
  Saturation saturation(index, egraph);
  Audited result;
  const Limits unlimited_each{.matches_each = 0xffffffff, .tries_each = 0xffffffff};
  result.outcome = saturation.run({}, put.operators() + 2, unlimited_each);
  for (std::uint64_t seed = 1; seed <= 5 && result.wrong.empty(); ++seed) {
    Audit run(world.library, egraph, seed);
    result.wrong = run.run();
    result.compared += run.members_compared();
  }
  const std::uint32_t values = egraph.value_count(), classes = egraph.class_count();
  saturation.run({}, put.operators() + 2, unlimited_each);
  result.complete = egraph.value_count() == values && egraph.class_count() == classes;
  return result;
}

}  // namespace

TEST_CASE("in a saturated e-graph all members of a class have the same value") {
  World world;
  const auto core = world.file("axioms.rules");
  std::size_t compared = 0;
  for (const char* file : {"consequences.rules", "no_consequences.rules", "axioms.rules"}) {
    for (const TypedRule& goal : world.file(file)) {
      INFO(world.text(goal));
      const Audited result = audit(world, core, goal);
      CHECK(result.wrong == "");
      CHECK(result.outcome == Saturation::Outcome::Saturated);
      CHECK(result.complete);
      compared += result.compared;
    }
  }
  CHECK(compared > 1000);
}

TEST_CASE("the audit finds an unsound rule among the axioms") {
  World world;
  const std::vector<const char*> unsound = {
      "rule f(a[n, n], b[n, n]) matmul(a, b) => matmul(b, a)",
      "rule f(a:2, b:2) relu(add(a, b)) => add(relu(a), relu(b))",
      "rule f(a[m, n], b[m, n]) concat(a, b; axis=0) => concat(b, a; axis=0)",
      "rule f(a[m, n], b[k, n]) split(concat(a, b; axis=0); axis=0, at=k).second => a",
      "rule f(x[m, k], a[k, n], b[k, n]) let s = split(matmul(x, concat(a, b; axis=1)); axis=1, at=n) "
      "matmul(x, a), matmul(x, b) => s.second, s.first",
  };
  const std::vector<const char*> goals = {
      "rule g(a[n, n], b[n, n], c[n, n]) matmul(matmul(a, b), c) => matmul(c, matmul(a, b))",
      "rule g(a:2, b:2) relu(relu(add(a, b))) => relu(add(a, b))",
      "rule g(a[m, n], b[m, n]) concat(a, b; axis=0) => concat(a, b; axis=0)",
      "rule g(a[m, n], b[m, n]) split(concat(a, b; axis=0); axis=0, at=m).second => b",
      "rule g(x[m, k], a[k, n], b[k, n]) add(matmul(x, a), relu(matmul(x, b))) => add(matmul(x, a), relu(matmul(x, "
      "b)))",
  };
  auto core = world.file("axioms.rules");
  for (std::size_t i = 0; i < unsound.size(); ++i) {
    core.push_back(world.rule(unsound[i]));
    INFO(unsound[i]);
    CHECK(audit(world, core, world.rule(goals[i])).wrong != "");
    core.pop_back();
    CHECK(audit(world, core, world.rule(goals[i])).wrong == "");
  }
}

}  // namespace rulemill::egraph
