#include <catch2/catch.hpp>

#include "check/kernel/kernel.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

bool is_trivial_goal(const Guards& given, const Guard& goal) { return is_trivial({"test", given, goal, {}, {}}); }
bool is_trivially_infeasible(const Guards& given) { return is_trivial({"test", given, {}, {}, {}}); }

}  // namespace

TEST_CASE("a goal is trivial if it is given up to a constant") {
  Atoms atoms;
  const Poly i = atoms.output(0), n = atoms.size("n");
  CHECK(is_trivial_goal({{false, i - 3}}, {false, i - 1}));
  CHECK_FALSE(is_trivial_goal({{false, i - 3}}, {false, i - 4}));
  CHECK_FALSE(is_trivial_goal({{false, i}}, {false, n}));
  CHECK(is_trivial_goal({{true, i - n}}, {true, n - i}));
  CHECK_FALSE(is_trivial_goal({{true, i - n}}, {true, n - i + 1}));
  CHECK_FALSE(is_trivial_goal({{false, i}}, {true, i}));
  CHECK(is_trivial_goal({}, {false, Poly(0)}));
  CHECK_FALSE(is_trivial_goal({}, {false, Poly(-1)}));
}

TEST_CASE("guards are trivially infeasible if two of them contradict each other") {
  Atoms atoms;
  const Poly i = atoms.output(0);
  CHECK(is_trivially_infeasible({{false, Poly(-1)}}));
  CHECK(is_trivially_infeasible({{false, i - 2}, {false, -i}}));    // i ≥ 2, i ≤ 0
  CHECK_FALSE(is_trivially_infeasible({{false, i}, {false, -i}}));  // i = 0
  CHECK(is_trivially_infeasible({{true, i}, {false, i - 1}}));      // i = 0, i ≥ 1
  CHECK(is_trivially_infeasible({{false, -i - 1}, {true, i}}));     // i ≤ −1, i = 0
  CHECK(is_trivially_infeasible({{true, i - 1}, {true, i - 2}}));   // i = 1, i = 2
  CHECK_FALSE(is_trivially_infeasible({{true, i - 1}, {true, i - 1}}));
  CHECK_FALSE(is_trivially_infeasible({}));
}

TEST_CASE("equal indicators are added up, and those of a guard and of the regions outside of it") {
  Atoms atoms;
  const Poly i = atoms.output(0);
  const Guard a{false, i}, b{false, atoms.output(1)}, c{true, i};
  const auto left = [](IndicatorSum indicators) { return to_obligations("test", {}, std::move(indicators), {}); };
  CHECK(left({{{1, 1}, {a, b}}, {{-1, 1}, {b, a}}}).empty());
  CHECK(left({{{1, 2}, {a}}, {{1, 2}, {a}}, {{-1, 1}, {a}}}).empty());
  CHECK(left({{{1, 1}, {a, b}}, {{1, 1}, {b, complement(a)[0]}}, {{-1, 1}, {b}}}).empty());
  CHECK(left({{{1, 1}, {c}}, {{1, 1}, {complement(c)[0]}}, {{1, 1}, {complement(c)[1]}}, {{-1, 1}, {}}}).empty());
  CHECK(left({{{1, 1}, {c}}, {{1, 1}, {complement(c)[0]}}, {{-1, 1}, {}}}).size() == 1);
  CHECK(left({{{1, 1}, {a}}, {{2, 1}, {complement(a)[0]}}, {{-1, 1}, {}}}).size() == 1);
  const auto products = left({{{1, 1}, {a}}, {{-1, 1}, {b}}});
  REQUIRE(products.size() == 1);
  CHECK_FALSE(is_trivial(products[0]));
  const auto goals = left({{{3, 1}, {a}}, {{-3, 1}, {b, a, c}}});
  REQUIRE(goals.size() == 2);
  CHECK(goals[0].given == Guards{a});
  const auto vanishes = left({{{1, 1}, {a}}});
  REQUIRE(vanishes.size() == 1);
  CHECK_FALSE(vanishes[0].goal);
  CHECK(vanishes[0].indicators.empty());
}
