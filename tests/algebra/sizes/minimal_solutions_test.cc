#include "algebra/sizes/minimal_solutions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace rulemill::algebra;

namespace {

using Vectors = std::vector<UnknownsVector>;

bool solves(const UnknownsVector& x, const Vectors& equations) {
  return std::ranges::all_of(equations, [&](const UnknownsVector& equation) {
    return std::inner_product(x.begin(), x.end(), equation.begin(), 0) == 0;
  });
}

/// All solutions with components below `bound`, without zero, by trial.
Vectors solutions_below(int bound, const Vectors& equations) {
  UnknownsVector x(equations.front().size());
  Vectors found;
  while (true) {
    const auto digit = std::ranges::find_if(x, [&](int value) { return value + 1 < bound; });
    if (digit == x.end()) return found;
    std::fill(x.begin(), digit, 0);
    ++*digit;
    if (solves(x, equations)) found.push_back(x);
  }
}

}  // namespace

TEST_CASE("the minimal solutions of p + q = r + s are the pairs of a left and a right unknown") {
  CHECK(minimal_solutions({{1, 1, -1, -1}}) == Vectors{{1, 0, 1, 0}, {1, 0, 0, 1}, {0, 1, 1, 0}, {0, 1, 0, 1}});
}

TEST_CASE("the minimal solutions of 2p = r + s have repeated unknowns") {
  CHECK(minimal_solutions({{2, -1, -1}}) == Vectors{{1, 2, 0}, {1, 1, 1}, {1, 0, 2}});
}

TEST_CASE("equations without a positive solution have no minimal solutions") {
  CHECK(minimal_solutions({{1, 1}}) == Vectors{});
  CHECK(minimal_solutions({{1, -1}, {1, -2}}) == Vectors{});
}

TEST_CASE("every solution is a sum of minimal solutions") {
  const std::vector<Vectors> systems = {
      {{1, 1, -1, -1}, {1, -1, 1, -1}},
      {{2, 1, -1, -2}},
      {{3, -2, 0, 1, -1}},
      {{1, 1, -1, -1, 0, 0}, {1, 0, -1, 0, 1, -1}},
      {{1, 1, -1, -1, 0, 0, 0}, {0, 0, 1, 1, -2, 0, 0}, {0, 1, 0, 0, 1, -1, -1}},
      // Four convolutions with a repeated kernel: g*q5 = q*q2, q3*g2 = q*q2, g*q6 = q3*q4, q*q2 = q6*q7.
      {{1, 0, -1, -1, 0, 0, 1, 0, 0},
       {0, 1, -1, -1, 1, 0, 0, 0, 0},
       {1, 0, 0, 0, -1, -1, 0, 1, 0},
       {0, 0, 1, 1, 0, 0, 0, -1, -1}},
  };
  for (const Vectors& equations : systems) {
    const auto minimal = minimal_solutions(equations);
    REQUIRE(minimal);
    for (const UnknownsVector& x : *minimal) CHECK(solves(x, equations));
    const int bound = equations.front().size() > 7 ? 4 : 6;
    for (UnknownsVector x : solutions_below(bound, equations)) {
      for (const UnknownsVector& part : *minimal) {
        while (std::ranges::equal(part, x, std::less_equal<>()))
          std::ranges::transform(x, part, x.begin(), std::minus<>());
      }
      CHECK(std::ranges::count(x, 0) == static_cast<std::ptrdiff_t>(x.size()));
    }
  }
}

TEST_CASE("a search that is too large has no result") {
  CHECK(!minimal_solutions({{1009, 1013, 1019, -1021, -1031, -1033}}));
}
