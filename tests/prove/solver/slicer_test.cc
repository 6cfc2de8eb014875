#include "prove/solver/slicer.h"

#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::prove;
using check::Guard;
using check::Guards;

namespace {

struct SlicerFixture {
  check::Atoms atoms;
  Slicer slicer{atoms};
  check::Poly a{atoms.fresh_bound()}, b{atoms.fresh_bound()}, m = atoms.size("m"), n = atoms.size("n");
  Guard below_m{false, m - 1 - a}, half{false, atoms.floor_div(a, 2) - 3}, below_n{false, n - 1 - b};
  Guards all = {below_m, below_n, half};
};

}  // namespace

TEST_CASE("a goal keeps the guards that share sizes or indices with it, directly or through others") {
  SlicerFixture test;
  const auto parts = test.slicer.parts({"test", test.all, Guard{false, test.m - 6}, {}});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].given == Guards{test.below_m, test.half});
  CHECK(parts[0].goal == Guard{false, test.m - 6});
  CHECK(test.slicer.around(test.all, test.b) == Guards{test.below_n});
}

TEST_CASE("each set of guards that may contradict each other is a part, and so is a number") {
  SlicerFixture test;
  const Guard number{false, -1};
  test.all.push_back(number);
  const auto parts = test.slicer.parts({"test", test.all, {}, {}});
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].given == Guards{test.below_m, test.half});
  CHECK(parts[1].given == Guards{test.below_n});
  CHECK(parts[2].given == Guards{number});
  CHECK(test.slicer.parts({"test", {}, {}, {}}).size() == 1);
}

TEST_CASE("an equation and its negation are one goal") {
  SlicerFixture test;
  const auto goal = [&](const check::Poly& poly) {
    return test.slicer.parts({"test", test.all, Guard{true, poly}, {}})[0].goal;
  };
  CHECK(goal(test.a - test.b) == goal(test.b - test.a));
}
