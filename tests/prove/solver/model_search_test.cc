#include "prove/solver/model_search.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("a search finds the only value of an index") {
  Symbols symbols;
  const Atom i = symbols.index("i");
  const auto model = find_model({"test", {{false, Poly(i) - 2}, {false, 2 - Poly(i)}}, {}, {}}, {}, symbols);
  REQUIRE(model);
  CHECK(model->at(i) == 2);
}

TEST_CASE("a search uses the given sizes, and 1 for others") {
  Symbols symbols;
  const Atom i = symbols.index("i"), n = symbols.size("n"), m = symbols.size("m");
  const Query query{"test", {{true, Poly(i) - Poly(n) - Poly(m)}}, {}, {}};
  const auto model = find_model(query, {{n, 4}}, symbols);
  REQUIRE(model);
  CHECK(model->at(i) == 5);
  CHECK(model->at(n) == 4);
  CHECK(model->at(m) == 1);
}

TEST_CASE("a search evaluates quotients") {
  Symbols symbols;
  const Atom i = symbols.index("i");
  const Guards asserted = {{true, symbols.floor_div(Poly(i), 2) - 3}, {false, Poly(i)}, {false, 9 - Poly(i)}};
  const auto model = find_model({"test", asserted, {}, {}}, {}, symbols);
  REQUIRE(model);
  CHECK(model->at(i) / 2 == 3);
}

TEST_CASE("a search finds nothing that does not exist") {
  Symbols symbols;
  const Atom i = symbols.index("i");
  CHECK_FALSE(find_model({"test", {{false, Poly(i) - 1}, {false, -Poly(i)}}, {}, {}}, {}, symbols));
}

TEST_CASE("a model is searched for at each of the given sizes until one is found") {
  Symbols symbols;
  const Atom i = symbols.index("i"), n = symbols.size("n");
  const Poly quotient = symbols.floor_div(Poly(i), Poly(n));
  const Query query{"test", {{false, Poly(i) - 5}, {false, Poly(n) - 1 - Poly(i)}, {true, quotient}}, {}, {}};
  Models models(symbols);
  CHECK_FALSE(has_model(models, query, {{{n, 2}}, {{n, 5}}}, symbols));
  REQUIRE(has_model(models, query, {{{n, 2}}, {{n, 6}}, {{n, 9}}}, symbols));
  CHECK(models.value(Poly(n)) == 6);
  CHECK(models.value(Poly(i)) == 5);
}
