#include "prove/solver/linear.h"

#include <catch2/catch.hpp>
#include <random>

#include "prove/solver/model_search.h"
#include "prove/solver/simplex.h"
#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// Random linear guards over a few indices and sizes.
Query random_query(Symbols& symbols, std::mt19937& random) {
  const std::vector<Poly> atoms = {Poly(symbols.index("i")), Poly(symbols.index("j")), Poly(symbols.index("k")),
                                   Poly(symbols.size("m")), Poly(symbols.size("n"))};
  Query query{"random", {}, {}, {}};
  const std::size_t guards = 2 + random() % 7;
  for (std::size_t g = 0; g < guards; ++g) {
    Poly poly(static_cast<std::int64_t>(random() % 9) - 4);
    for (const Poly& atom : atoms) {
      if (random() % 2 == 0) poly += atom * Poly(static_cast<std::int64_t>(random() % 5) - 2);
    }
    query.asserted.push_back({random() % 5 == 0, poly});
  }
  query.lemmas = lemmas_for(query, symbols);
  return query;
}

}  // namespace

TEST_CASE("simplex decides small systems over the rationals") {
  const auto infeasible = [](std::vector<std::vector<std::int64_t>> rows, std::vector<std::int64_t> constants,
                             std::vector<bool> equal = {}) {
    Simplex simplex(rows[0].size());
    for (std::size_t r = 0; r < rows.size(); ++r) simplex.add(rows[r], constants[r], !equal.empty() && equal[r]);
    return simplex.infeasible();
  };
  CHECK(infeasible({{1}, {-1}}, {0, -1}));                    // x ≥ 0, x ≤ −1
  CHECK_FALSE(infeasible({{1}, {-1}}, {0, 0}));               // x = 0
  CHECK(infeasible({{1, 1}, {-1, 0}, {0, -1}}, {-3, 1, 1}));  // x + y ≥ 3, x ≤ 1, y ≤ 1
  CHECK_FALSE(infeasible({{1, 1}, {-1, 0}, {0, -1}}, {-2, 1, 1}));
  CHECK_FALSE(infeasible({{2}, {-2}}, {-1, 1}));              // 2x = 1 has a rational solution
  CHECK(infeasible({{1, 2}, {2, 4}}, {0, 1}, {true, true}));  // parallel planes
  CHECK(infeasible({{0}}, {-1}));
}

TEST_CASE("what the linear check shows, no model contradicts") {
  std::mt19937 random(5);
  std::size_t shown = 0;
  std::size_t satisfied = 0;
  for (int round = 0; round < 2000; ++round) {
    Symbols symbols;
    const Query query = random_query(symbols, random);
    bool model = false;
    for (std::int64_t m = 1; m <= 3 && !model; ++m) {
      for (std::int64_t n = 1; n <= 3 && !model; ++n) {
        const Models::Values sizes = {{symbols.size("m"), m}, {symbols.size("n"), n}};
        model = find_model(query, sizes, symbols).has_value();
      }
    }
    const bool infeasible = linearly_infeasible(query);
    CHECK_FALSE((model && infeasible));
    shown += infeasible ? 1 : 0;
    satisfied += model ? 1 : 0;
  }
  CHECK(shown > 200);
  CHECK(satisfied > 200);
}

TEST_CASE("the linear check and Z3 agree on random queries") {
  std::mt19937 random(6);
  for (int round = 0; round < 300; ++round) {
    Symbols symbols;
    const Query query = random_query(symbols, random);
    SolverLimits limits;
    limits.linear = false;
    Solver z3(symbols, limits);
    const bool unsatisfiable = z3.infeasible(query.asserted, "random");
    if (linearly_infeasible(query)) CHECK(unsatisfiable);
  }
}

TEST_CASE("indicators vanish where one splits the other's region, and not where a piece is missing") {
  Symbols symbols;
  const Poly i(symbols.index("i")), a(symbols.size("a")), b(symbols.size("b"));
  const Guards whole = {{false, i}, {false, a + b - 1 - i}};
  const Guards first = {{false, i}, {false, a - 1 - i}};
  const Guards second = {{false, i - a}, {false, a + b - 1 - i}};
  Query query{"split", {}, {{{1, 1}, whole}, {{-1, 1}, first}, {{-1, 1}, second}}, {}};
  query.lemmas = lemmas_for(query, symbols);
  CHECK(indicators_vanish(query));
  query.indicators.pop_back();
  CHECK_FALSE(indicators_vanish(query));
  Query shifted{"shifted", {}, {{{1, 1}, first}, {{-1, 1}, {{false, i - 1}, {false, a - i}}}}, {}};
  shifted.lemmas = lemmas_for(shifted, symbols);
  CHECK_FALSE(indicators_vanish(shifted));
}

TEST_CASE("verdicts are the same with Z3 alone") {
  ProverOptions options;
  options.solver.linear = false;
  Court alone(options);
  Court court;
  for (const char* file : {"tests/prove/proved.rules", "tests/prove/refuted.rules"}) {
    const auto rules = court.rules(file);
    const auto again = alone.rules(file);
    for (std::size_t r = 0; r < rules.size(); ++r) {
      INFO(rules[r].id);
      CHECK(name(court.prover.prove(rules[r])) == std::string(name(alone.prover.prove(again[r]))));
    }
  }
}
