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

TEST_CASE("indicators cancel trivially if those of equal guards do") {
  Atoms atoms;
  const Guard a{false, atoms.output(0)}, b{false, atoms.output(1)};
  const auto cancel = [](std::vector<std::pair<Rational, Guards>> indicators) {
    return is_trivial({"test", {}, {}, std::move(indicators), {}});
  };
  CHECK(cancel({{{1, 1}, {a, b}}, {{-1, 1}, {b, a}}}));
  CHECK(cancel({{{1, 2}, {a}}, {{1, 2}, {a}}, {{-1, 1}, {a}}}));
  CHECK_FALSE(cancel({{{1, 1}, {a}}, {{-1, 1}, {b}}}));
  CHECK_FALSE(cancel({{{1, 1}, {a}}, {{1, 1}, {a}}}));
}
