#include "prove/solver/guard.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("the complement of a guard is the disjoint regions where it does not hold") {
  Symbols symbols;
  const Poly i(symbols.index("i"));
  CHECK(complement({false, i - 3}) == Guards{{false, 2 - i}});
  CHECK(complement({true, i - 3}) == Guards{{false, i - 4}, {false, 2 - i}});
}

TEST_CASE("regions partition all points by a conjunction of comparisons") {
  Symbols symbols;
  const Poly i(symbols.index("i")), j(symbols.index("j"));
  const Guard a{false, i}, b{false, j};
  const Regions split = regions({a, b}, {});
  CHECK(split.inside == std::vector<Guards>{{a, b}});
  CHECK(split.outside == std::vector<Guards>{{{false, -i - 1}}, {a, {false, -j - 1}}});
}

TEST_CASE("an inequation splits the inside in two") {
  Symbols symbols;
  const Poly i(symbols.index("i"));
  const Regions split = regions({}, {i});
  CHECK(split.inside == std::vector<Guards>{{{false, i - 1}}, {{false, -i - 1}}});
  CHECK(split.outside == std::vector<Guards>{{{true, i}}});
}
