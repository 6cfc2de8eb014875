#include "prove/solver/solver.h"

#include <catch2/catch.hpp>

#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("a guard is implied by facts and by assumptions while these live") {
  Symbols symbols;
  const Poly n(symbols.size("n")), i(symbols.index("i"));
  Solver solver(symbols);
  solver.start({{false, n - 4}});
  CHECK(solver.is_implied({}, {false, n - 2}, "test"));
  CHECK_FALSE(solver.is_implied({}, {false, n - 5}, "test"));
  CHECK_FALSE(solver.is_implied({}, {false, i - 4}, "test"));
  {
    const Solver::Assumption assumption(solver, {{true, i - n}});
    CHECK(solver.is_implied({}, {false, i - 4}, "test"));
    CHECK(solver.is_infeasible({{false, 3 - i}}, "test"));
  }
  CHECK_FALSE(solver.is_infeasible({{false, 3 - i}}, "test"));
}

TEST_CASE("sizes are positive, and so are their products") {
  Symbols symbols;
  const Poly m(symbols.size("m")), n(symbols.size("n"));
  Solver solver(symbols);
  solver.start({});
  CHECK(solver.is_implied({}, {false, m * n - 1}, "test"));
  CHECK_FALSE(solver.is_implied({}, {false, m * n - 2}, "test"));
}

TEST_CASE("a quotient has a unique value where its numerator stays in one interval") {
  Symbols symbols;
  const Poly i(symbols.index("i")), half = symbols.floor_div(i, 2);
  Solver solver(symbols);
  solver.start({}, {Models::Values{}});
  CHECK(solver.unique_value({{false, i - 6}, {false, 7 - i}}, half, "test") == 3);
  CHECK(solver.unique_value({{false, i - 6}, {false, 8 - i}}, half, "test") == std::nullopt);
}

TEST_CASE("indicators cancel if those that are subtracted partition the region") {
  Symbols symbols;
  const Poly i(symbols.index("i")), a(symbols.size("a")), b(symbols.size("b"));
  const Guards whole = {{false, i}, {false, a + b - 1 - i}};
  const Guards first = {{false, i}, {false, a - 1 - i}};
  const Guards second = {{false, i - a}, {false, a + b - 1 - i}};
  Solver solver(symbols);
  solver.start({});
  CHECK(solver.indicators_cancel({{{1, 1}, whole}, {{-1, 1}, whole}}, "test"));
  CHECK(solver.indicators_cancel({{{1, 1}, whole}, {{-1, 1}, first}, {{-1, 1}, second}}, "test"));
  CHECK_FALSE(solver.indicators_cancel({{{1, 1}, whole}, {{-1, 1}, first}}, "test"));
}

TEST_CASE("verdicts are the same with Z3 alone") {
  ProverOptions options;
  options.solver.linear = false;
  ProverFixture alone(options);
  ProverFixture fixture;
  for (const char* file : {"tests/prove/proved.rules", "tests/prove/refuted.rules"}) {
    const auto rules = fixture.rules(file);
    const auto again = alone.rules(file);
    for (std::size_t r = 0; r < rules.size(); ++r) {
      INFO(rules[r].id);
      CHECK(name(fixture.prover.prove(rules[r])) == std::string(name(alone.prover.prove(again[r]))));
    }
  }
}
