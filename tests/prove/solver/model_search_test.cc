#include "prove/solver/model_search.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("a search finds the only value of an index") {
  Atoms atoms;
  const Atom i = atoms.fresh_bound();
  const auto model = find_model({{{false, Poly(i) - 2}, {false, 2 - Poly(i)}}, {}}, {}, atoms);
  REQUIRE(model);
  CHECK(model->at(i) == 2);
}

TEST_CASE("a search uses the given sizes, and 1 for others") {
  Atoms atoms;
  const Atom i = atoms.fresh_bound(), n = *atoms.size("n").atom(), m = *atoms.size("m").atom();
  const Query query{{{true, Poly(i) - Poly(n) - Poly(m)}}, {}};
  const auto model = find_model(query, {{n, 4}}, atoms);
  REQUIRE(model);
  CHECK(model->at(i) == 5);
  CHECK(model->at(n) == 4);
  CHECK(model->at(m) == 1);
}

TEST_CASE("a search evaluates quotients") {
  Atoms atoms;
  const Atom i = atoms.fresh_bound();
  const Guards asserted = {{true, atoms.floor_div(Poly(i), 2) - 3}, {false, Poly(i)}, {false, 9 - Poly(i)}};
  const auto model = find_model({asserted, {}}, {}, atoms);
  REQUIRE(model);
  CHECK(model->at(i) / 2 == 3);
}

TEST_CASE("a search finds nothing that does not exist") {
  Atoms atoms;
  const Atom i = atoms.fresh_bound();
  CHECK_FALSE(find_model({{{false, Poly(i) - 1}, {false, -Poly(i)}}, {}}, {}, atoms));
}

TEST_CASE("a model is searched for at each of the given sizes until one is found") {
  Atoms atoms;
  const Atom i = atoms.fresh_bound(), n = *atoms.size("n").atom();
  const Poly quotient = atoms.floor_div(Poly(i), Poly(n));
  const Query query{{{false, Poly(i) - 5}, {false, Poly(n) - 1 - Poly(i)}, {true, quotient}}, {}};
  Models models(atoms);
  CHECK_FALSE(has_model(models, query, {{{n, 2}}, {{n, 5}}}, atoms));
  REQUIRE(has_model(models, query, {{{n, 2}}, {{n, 6}}, {{n, 9}}}, atoms));
  CHECK(models.value(Poly(n)) == 6);
  CHECK(models.value(Poly(i)) == 5);
}
