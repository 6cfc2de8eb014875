#include "prove/solver/linear.h"

#include <catch2/catch.hpp>
#include <random>

#include "prove/solver/model_search.h"
#include "prove/solver/solver.h"

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
  query.lemmas = make_lemmas(query, symbols);
  return query;
}

}  // namespace

TEST_CASE("no model contradicts what the linear check shows") {
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
    const bool infeasible = is_linearly_infeasible(query);
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
    const bool unsatisfiable = z3.is_infeasible(query.asserted, "random");
    if (is_linearly_infeasible(query)) CHECK(unsatisfiable);
  }
}

TEST_CASE("an indicator is the sum of those that partition its region, and of no fewer") {
  Symbols symbols;
  const Poly i(symbols.index("i")), a(symbols.size("a")), b(symbols.size("b"));
  const Guards whole = {{false, i}, {false, a + b - 1 - i}};
  const Guards first = {{false, i}, {false, a - 1 - i}};
  const Guards second = {{false, i - a}, {false, a + b - 1 - i}};
  Query query{"split", {}, {{{1, 1}, whole}, {{-1, 1}, first}, {{-1, 1}, second}}, {}};
  query.lemmas = make_lemmas(query, symbols);
  CHECK(indicators_vanish(query));
  query.indicators.pop_back();
  CHECK_FALSE(indicators_vanish(query));
  Query shifted{"shifted", {}, {{{1, 1}, first}, {{-1, 1}, {{false, i - 1}, {false, a - i}}}}, {}};
  shifted.lemmas = make_lemmas(shifted, symbols);
  CHECK_FALSE(indicators_vanish(shifted));
}
