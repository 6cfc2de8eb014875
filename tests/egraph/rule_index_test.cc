#include "egraph/rule_index.h"

#include "egraph/goal.h"
#include "tests/egraph/rule_fixture.h"

namespace rulemill::egraph {

namespace {

/// An index of rules over the e-graph of a goal.
struct IndexedGoal {
  IndexedGoal(RuleFixture& fixture, const std::string& rules, const std::string& goal_text)
      : sizes(fixture.library, fixture.symbols),
        canonical_sizes(fixture.symbols),
        egraph(fixture.library, sizes),
        typed(fixture.rule(goal_text)),
        goal(typed, fixture.bank, canonical_sizes, egraph) {
    for (const algebra::TypedRule& rule : fixture.rules(rules)) index.add(compile(rule, fixture.bank, sizes));
  }

  std::vector<DirectionId> applicable(RulePhase phase) {
    ClassIndex classes;
    egraph.rebuild();
    classes.build(egraph);
    index.update(egraph, classes, egraph.tick(), met);
    std::vector<DirectionId> result;
    index.find_applicable(met, phase, result);
    return result;
  }

  SizeTable sizes;
  CanonicalSizes canonical_sizes;
  EGraph egraph;
  algebra::TypedRule typed;
  Goal goal;
  RuleIndex index;
  RuleIndex::MetNeeds met;
};

}  // namespace

TEST_CASE("a direction is applicable once the e-graph has its operators and each argument's class has the operator") {
  RuleFixture fixture;
  IndexedGoal indexed(fixture, "rule f(a[m, n], b[m, n]) relu(add(a, b)) => add(relu(a), relu(b))",
                      "rule g(a[m, n], b[m, n], c[m, n]) add(b, relu(a)), relu(c) => add(relu(a), b), relu(c)");
  const DirectionId forward{0, 0}, backward{0, 1};
  CHECK(indexed.applicable(RulePhase::All) == std::vector{backward});
  CHECK(indexed.applicable(RulePhase::Small).empty());
  const EClassId c = 2;
  REQUIRE(indexed.egraph.tag_of(c) == static_cast<std::uint32_t>(indexed.typed.rule.variables[2]));
  indexed.egraph.merge(c, indexed.goal.outputs()[0].first, EGraph::Edge::premise);
  CHECK(indexed.applicable(RulePhase::All) == std::vector{forward, backward});
  indexed.index.enable(0, false);
  CHECK(indexed.applicable(RulePhase::All).empty());
  indexed.index.enable(0, true);
  indexed.met.clear();
  CHECK(indexed.applicable(RulePhase::All) == std::vector{forward, backward});
}

TEST_CASE("an edge is of one argument, unless the operator is commutative") {
  RuleFixture fixture;
  IndexedGoal indexed(fixture,
                      "rule f(a[m, n], b[m, n]) concat(relu(a), b; axis=0) => concat(a, b; axis=0)\n"
                      "rule h(a[m, n], b[m, n]) concat(a, relu(b); axis=0) => concat(a, b; axis=0)\n"
                      "rule j(a[m, n], b[m, n]) add(relu(a), b) => add(a, b)\n",
                      "rule g(a[m, n], b[m, n]) concat(a, relu(b); axis=0), add(a, relu(b)) => "
                      "concat(a, relu(b); axis=0), add(a, relu(b))");
  const auto applicable = indexed.applicable(RulePhase::Small);
  const auto has = [&](DirectionId id) { return std::ranges::find(applicable, id) != applicable.end(); };
  CHECK_FALSE(has({0, 0}));
  CHECK(has({1, 0}));
  CHECK(has({2, 0}));
}

TEST_CASE("a direction that introduces an operator is applicable in the last phase; truncation removes it") {
  RuleFixture fixture;
  IndexedGoal indexed(fixture,
                      "rule f(a[m, n]) relu(relu(a)) => relu(a)\n"
                      "rule h(a[m, n]) relu(a) => mul(relu(a), relu(a))\n",
                      "rule g(a[m, n]) relu(a) => relu(a)");
  const auto later = [&](RulePhase phase) {
    return std::ranges::count(indexed.applicable(phase), 1u, &DirectionId::rule);
  };
  CHECK(later(RulePhase::Small) == 0);
  CHECK(later(RulePhase::All) == 0);
  CHECK(later(RulePhase::Expanding) == 1);
  indexed.index.truncate(1);
  CHECK(later(RulePhase::Expanding) == 0);
}

}  // namespace rulemill::egraph
