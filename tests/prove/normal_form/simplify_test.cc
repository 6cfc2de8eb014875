#include "prove/normal_form/simplify.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("guards are tightened to integers") {
  Symbols symbols;
  const Poly i(symbols.index("i"));
  Guards guards = {{false, Poly(2) * i - 1}};
  CHECK(simplify_guards(guards, {}));
  CHECK(guards == Guards{{false, i - 1}});
  guards = {{true, Poly(2) * i - 1}};
  CHECK_FALSE(simplify_guards(guards, {}));  // no integer is 1/2
}

TEST_CASE("redundant guards are removed, and contradictions are found") {
  Symbols symbols;
  const Poly i(symbols.index("i"));
  Guards guards = {{false, i + 5}};
  CHECK(simplify_guards(guards, {{false, i}}));
  CHECK(guards.empty());
  guards = {{false, i - 1}, {false, -i}};
  CHECK_FALSE(simplify_guards(guards, {}));
  guards = {{false, i - 3}, {false, 3 - i}};
  CHECK(simplify_guards(guards, {}));
  CHECK(guards == Guards{{true, i - 3}});
}

TEST_CASE("a bound index that an equality fixes is eliminated") {
  Symbols symbols;
  const Atom b = symbols.index("b");
  const Poly n(symbols.size("n"));
  Factor factor;
  factor.index = {Poly(b) + 1};
  Product product{{1, 1}, {{true, Poly(b) - n}}, {b}, {factor}};
  CHECK(simplify(product, {}, symbols));
  CHECK(product.bound.empty());
  CHECK(product.guards.empty());
  CHECK(product.factors[0].index == std::vector<Poly>{n + 1});
}

TEST_CASE("a product is zero if its coefficient is, or its guards contradict each other") {
  Symbols symbols;
  const Poly i(symbols.index("i"));
  Product zero{{0, 1}, {}, {}, {}}, contradictory{{1, 1}, {{false, i}, {false, -i - 1}}, {}, {}};
  CHECK_FALSE(simplify(zero, {}, symbols));
  CHECK_FALSE(simplify(contradictory, {}, symbols));
}
