// Saturated e-graphs evaluated against the definitions.
#include "tests/egraph/class_evaluation.h"

#include "tests/egraph/rule_fixture.h"

namespace rulemill::egraph {

using algebra::TypedRule;

namespace {

struct EvaluatedSaturation {
  std::string error;
  std::size_t comparisons = 0;
  Saturation::StopReason stop_reason{};
  bool complete = false;  // another run adds nothing
};

/// Saturates the goal's terms without stopping at the goal, then evaluates the classes with several seeds.
EvaluatedSaturation saturate_and_evaluate(RuleFixture& fixture, const std::vector<TypedRule>& core,
                                          const TypedRule& goal) {
  SizeTable sizes(fixture.library, fixture.symbols);
  CanonicalSizes canonical_sizes(fixture.symbols);
  RuleIndex index;
  for (const TypedRule& rule : core) index.add(compile(rule, fixture.bank, sizes));
  EGraph egraph(fixture.library, sizes);
  const Goal added_goal(goal, fixture.bank, canonical_sizes, egraph);
  Saturation saturation(index, egraph);
  EvaluatedSaturation result;
  const Limits no_limits_per_rule{.matches_per_rule = 0xffffffff, .node_visits_per_rule = 0xffffffff};
  result.stop_reason = saturation.run({}, added_goal.operator_count() + 2, no_limits_per_rule);
  for (std::uint64_t seed = 1; seed <= 5 && result.error.empty(); ++seed) {
    ClassEvaluation run(fixture.library, egraph, seed);
    result.error = run.run();
    result.comparisons += run.comparisons();
  }
  const std::uint32_t values = egraph.id_count(), classes = egraph.class_count();
  saturation.run({}, added_goal.operator_count() + 2, no_limits_per_rule);
  result.complete = egraph.id_count() == values && egraph.class_count() == classes;
  return result;
}

}  // namespace

TEST_CASE("in a saturated e-graph all members of a class have the same value") {
  RuleFixture fixture;
  const auto core = fixture.file("axioms.rules");
  std::size_t comparisons = 0;
  for (const char* file : {"consequences.rules", "no_consequences.rules", "axioms.rules"}) {
    for (const TypedRule& goal : fixture.file(file)) {
      INFO(fixture.text(goal));
      const EvaluatedSaturation result = saturate_and_evaluate(fixture, core, goal);
      CHECK(result.error == "");
      CHECK(result.stop_reason == Saturation::StopReason::Saturated);
      CHECK(result.complete);
      comparisons += result.comparisons;
    }
  }
  CHECK(comparisons > 1000);
}

TEST_CASE("class evaluation detects an unsound rule among the axioms") {
  RuleFixture fixture;
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
  auto core = fixture.file("axioms.rules");
  for (std::size_t i = 0; i < unsound.size(); ++i) {
    core.push_back(fixture.rule(unsound[i]));
    INFO(unsound[i]);
    CHECK(saturate_and_evaluate(fixture, core, fixture.rule(goals[i])).error != "");
    core.pop_back();
    CHECK(saturate_and_evaluate(fixture, core, fixture.rule(goals[i])).error == "");
  }
}

}  // namespace rulemill::egraph
