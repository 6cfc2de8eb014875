#include "check/kernel/atoms.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::check;

using algebra::Relation;

TEST_CASE("relations become guards, except !=") {
  Atoms atoms;
  const Poly m = atoms.size("m"), n = atoms.size("n");
  CHECK(to_guard(Relation::Eq, m, n) == Guard{true, n - m});
  CHECK(to_guard(Relation::Lt, m, n) == Guard{false, n - m - 1});
  CHECK(to_guard(Relation::Le, m, n) == Guard{false, n - m});
  CHECK_THROWS_AS(to_guard(Relation::Ne, m, n), CheckError);
}

TEST_CASE("the complement of a guard is the disjoint regions where it does not hold") {
  Atoms atoms;
  const Poly i = atoms.output(0);
  CHECK(complement({false, i - 3}) == Guards{{false, 2 - i}});  // i < 3
  CHECK(complement({true, i - 3}) == Guards{{false, i - 4}, {false, 2 - i}});
}

TEST_CASE("a guard always holds only if it is a true constant") {
  Atoms atoms;
  CHECK(always_holds({false, Poly(0)}));
  CHECK(always_holds({true, Poly(0)}));
  CHECK_FALSE(always_holds({false, Poly(-1)}));
  CHECK_FALSE(always_holds({true, Poly(1)}));
  CHECK_FALSE(always_holds({false, atoms.size("m")}));  // although sizes are positive
}

TEST_CASE("redundant guards are removed, and the others keep their order") {
  Atoms atoms;
  const Poly i = atoms.output(0), n = atoms.size("n");
  Guards guards = {{false, n - 1}, {false, Poly(7)}};
  append_range(guards, i, n);
  append_range(guards, i, n);
  remove_redundant(guards);
  CHECK(guards == Guards{{false, n - 1}, {false, i}, {false, n - 1 - i}});
}
