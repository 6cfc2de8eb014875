#include "prove/elaboration/align.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// Bound indices, a size and a large budget.
struct AlignFixture {
  Atoms atoms;
  Budget budget{1'000'000};
  Atom a = atoms.fresh_bound(), b = atoms.fresh_bound(), x = atoms.fresh_bound(), y = atoms.fresh_bound();
  Poly n = atoms.size("n");

  SolvedIndices solve(std::vector<Poly> equations, const std::vector<Atom>& unknowns) {
    return solve_indices(std::move(equations), unknowns, atoms, budget);
  }
};

Factor read(std::uint32_t variable, const Poly& index) {
  Factor factor;
  factor.symbol = variable;
  factor.index = {index};
  return factor;
}

Product sum_over(const std::vector<Atom>& bound, std::vector<Factor> factors) {
  return {{1, 1}, {}, bound, std::move(factors)};
}

}  // namespace

TEST_CASE("equations are solved for unknowns with coefficient 1 or -1") {
  AlignFixture test;
  const SolvedIndices one = test.solve({Poly(test.a) - Poly(test.x) - 1}, {test.a});
  CHECK(one.map == Images{{test.a, Poly(test.x) + 1}});
  CHECK(one.rest.empty());
  const SolvedIndices triangular =
      test.solve({Poly(test.a) - Poly(test.b), Poly(test.b) + Poly(test.x) - test.n}, {test.a, test.b});
  const Poly value = test.n - Poly(test.x);
  CHECK(triangular.map == Images{{test.a, value}, {test.b, value}});
  const SolvedIndices none = test.solve({Poly(2) * Poly(test.a) - Poly(test.x)}, {test.a});
  CHECK(none.map.empty());
  CHECK(none.rest.size() == 1);
}

TEST_CASE("a map is unimodular if its determinant is 1 or -1") {
  AlignFixture test;
  const Poly x(test.x), y(test.y);
  const std::vector<Atom> from = {test.a, test.b}, to = {test.x, test.y};
  const auto unimodular = [&](const Poly& of_a, const Poly& of_b) {
    return is_unimodular({{test.a, of_a}, {test.b, of_b}}, from, to, test.atoms);
  };
  CHECK(unimodular(x, y));
  CHECK(unimodular(y, x));
  CHECK(unimodular(x + y, y));
  CHECK(unimodular(x + test.n, y - 3));
  CHECK_FALSE(unimodular(x + y, x - y));   // determinant −2
  CHECK_FALSE(unimodular(x, x));           // determinant 0
  CHECK_FALSE(unimodular(x * test.n, y));  // not affine with constant coefficients
  CHECK_FALSE(is_unimodular({{test.a, x}}, {test.a}, to, test.atoms));
}

TEST_CASE("factors are paired with those of equal heads") {
  AlignFixture test;
  const Poly a(test.a), b(test.b), x(test.x), y(test.y);
  const std::vector<Factor> left = {read(0, a), read(1, b)}, right = {read(1, x), read(0, y)};
  const auto pairs = pair_factors(left, right, 10);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0] == std::vector<FactorPair>{{&left[0], &right[1]}, {&left[1], &right[0]}});
  CHECK(pair_factors({read(0, a), read(0, b)}, {read(0, x), read(0, y)}, 10).size() == 2);
  CHECK(pair_factors({read(0, a), read(0, b)}, {read(0, x), read(0, y)}, 1).size() == 1);
  CHECK(pair_factors({read(0, a), read(0, b)}, {read(0, x), read(0, x)}, 10).size() == 1);  // equal reads
  CHECK(pair_factors({read(0, a)}, {read(1, x)}, 10).empty());
  CHECK(pair_factors({read(0, a)}, {}, 10).empty());
}

TEST_CASE("missing indices of a map are assigned in every order, up to the limit") {
  AlignFixture test;
  ElaborationLimits limits;
  std::vector<Images> maps;
  complete_maps({}, {test.a, test.b}, {test.x, test.y}, test.atoms, limits, test.budget, maps);
  CHECK(maps.size() == 2);
  maps.clear();
  limits.maps = 1;
  complete_maps({}, {test.a, test.b}, {test.x, test.y}, test.atoms, limits, test.budget, maps);
  CHECK(maps.size() == 1);
}

TEST_CASE("bound indices are mapped so that the indices of reads are equal") {
  AlignFixture test;
  const Product product = sum_over({test.a, test.b}, {read(0, Poly(test.a) + Poly(test.b)), read(1, Poly(test.b))});
  const Product onto = sum_over({test.x, test.y}, {read(0, Poly(test.x)), read(1, Poly(test.y) - 1)});
  CHECK(are_comparable(product, onto));
  const auto pairs = pair_factors(product.factors, onto.factors, 10);
  REQUIRE(pairs.size() == 1);
  const auto maps = candidate_maps(product, onto, pairs[0], {}, test.atoms, {}, test.budget);
  REQUIRE(maps.size() == 1);
  CHECK(maps[0] == Images{{test.b, Poly(test.y) - 1}, {test.a, Poly(test.x) - Poly(test.y) + 1}});
  CHECK_FALSE(are_comparable(product, sum_over({test.x}, onto.factors)));
}
