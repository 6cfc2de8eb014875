#include "prove/solver/models.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("a stored model answers later queries that it satisfies") {
  Atoms atoms;
  const Atom i = atoms.fresh_bound();
  const Query at_least_3{{{false, Poly(i) - 3}}, {}}, at_least_9{{{false, Poly(i) - 9}}, {}};
  Models models(atoms);
  CHECK_FALSE(models.contains_model_of(at_least_3));
  CHECK(models.value(Poly(i)) == std::nullopt);
  models.add({{i, 5}}, at_least_3);
  CHECK(models.contains_model_of(at_least_3));
  CHECK_FALSE(models.contains_model_of(at_least_9));
  CHECK(models.value(Poly(i) + 1) == 6);
}

TEST_CASE("values are stored only if they satisfy the query and sizes are positive") {
  Atoms atoms;
  const Atom i = atoms.fresh_bound(), n = *atoms.size("n").atom();
  const Query query{{{false, Poly(i) - 3}}, {}};
  Models models(atoms);
  models.add({{i, 2}}, query);
  CHECK_FALSE(models.contains_model_of(query));
  models.add({{i, 3}, {n, 0}}, query);
  CHECK_FALSE(models.contains_model_of(query));
}
