#include <catch2/catch.hpp>

#include "check/kernel/kernel.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

bool is_trivial_goal(const Guards& given, const Guard& goal, const Atoms& atoms) {
  return is_trivial({"test", given, goal, {}}, atoms);
}
bool is_trivially_infeasible(const Guards& given, const Atoms& atoms) {
  return is_trivial({"test", given, {}, {}}, atoms);
}

}  // namespace

TEST_CASE("a goal is trivial if it is given up to a polynomial in sizes") {
  Atoms atoms;
  const Poly i = atoms.output(0), n = atoms.size("n");
  CHECK(is_trivial_goal({{false, i - 3}}, {false, i - 1}, atoms));
  CHECK_FALSE(is_trivial_goal({{false, i - 3}}, {false, i - 4}, atoms));
  CHECK_FALSE(is_trivial_goal({{false, i}}, {false, n - 2}, atoms));
  CHECK(is_trivial_goal({{true, i - n}}, {true, n - i}, atoms));
  CHECK_FALSE(is_trivial_goal({{true, i - n}}, {true, n - i + 1}, atoms));
  CHECK_FALSE(is_trivial_goal({{false, i}}, {true, i}, atoms));
  CHECK(is_trivial_goal({}, {false, Poly(0)}, atoms));
  CHECK_FALSE(is_trivial_goal({}, {false, Poly(-1)}, atoms));
  CHECK(is_trivial_goal({{false, i}}, {false, i + n - 1}, atoms));
  CHECK_FALSE(is_trivial_goal({{false, i}}, {false, i + n - 2}, atoms));
}

TEST_CASE("guards are trivially infeasible if two of them contradict each other") {
  Atoms atoms;
  const Poly i = atoms.output(0);
  CHECK(is_trivially_infeasible({{false, Poly(-1)}}, atoms));
  CHECK(is_trivially_infeasible({{false, i - 2}, {false, -i}}, atoms));    // i ≥ 2, i ≤ 0
  CHECK_FALSE(is_trivially_infeasible({{false, i}, {false, -i}}, atoms));  // i = 0
  CHECK(is_trivially_infeasible({{true, i}, {false, i - 1}}, atoms));      // i = 0, i ≥ 1
  CHECK(is_trivially_infeasible({{false, -i - 1}, {true, i}}, atoms));     // i ≤ −1, i = 0
  CHECK(is_trivially_infeasible({{true, i - 1}, {true, i - 2}}, atoms));   // i = 1, i = 2
  CHECK_FALSE(is_trivially_infeasible({{true, i - 1}, {true, i - 1}}, atoms));
  CHECK_FALSE(is_trivially_infeasible({}, atoms));
}

TEST_CASE("indicators cancel where their guards are decided, or there must be no such point") {
  Atoms atoms;
  const Poly i = atoms.output(0);
  const Guard a{false, i}, b{false, atoms.output(1)}, c{true, i}, d{true, atoms.output(1)};
  const auto left = [&](const IndicatorSum& indicators) {
    std::vector<Obligation> all;
    require_zero({"test", {}, {}, {}}, indicators, atoms, [&](Obligation each) { all.push_back(std::move(each)); });
    return all;
  };
  CHECK(left({{{1, 1}, {a, b}}, {{-1, 1}, {b, a}}}).empty());
  CHECK(left({{{1, 2}, {a}}, {{1, 2}, {a}}, {{-1, 1}, {a}}}).empty());
  CHECK(left({{{1, 1}, {a, b}}, {{1, 1}, {b, complement(a)[0]}}, {{-1, 1}, {b}}}).empty());
  CHECK(left({{{1, 1}, {c}}, {{1, 1}, {complement(c)[0]}}, {{1, 1}, {complement(c)[1]}}, {{-1, 1}, {}}}).empty());
  CHECK(left({{{1, 1}, {c}}, {{1, 1}, {complement(c)[0]}}, {{-1, 1}, {}}}).size() == 1);
  CHECK(left({{{1, 1}, {a}}, {{2, 1}, {complement(a)[0]}}, {{-1, 1}, {}}}).size() == 1);
  const auto products = left({{{1, 1}, {a}}, {{-1, 1}, {b}}});
  REQUIRE(products.size() == 2);
  CHECK((products[0].given == Guards{a} && products[0].goal == b));
  CHECK((products[1].given == Guards{b} && products[1].goal == a));
  const auto goals = left({{{3, 1}, {a}}, {{-3, 1}, {b, a, d}}});
  REQUIRE(goals.size() == 2);  // the half of d that b does not imply, and b
  CHECK((goals[0].given == Guards{a, b} && goals[0].goal == Guard{false, -d.poly}));
  CHECK((goals[1].given == Guards{a} && goals[1].goal == b));
  const auto vanishes = left({{{1, 1}, {a}}});
  REQUIRE(vanishes.size() == 1);
  CHECK((vanishes[0].given == Guards{a} && !vanishes[0].goal));
}

TEST_CASE("indicators of many guards are decided soon, or refused") {
  Atoms atoms;
  std::size_t left = 0;
  const auto decide = [&](const IndicatorSum& indicators) {
    require_zero({"test", {}, {}, {}}, indicators, atoms, [&](const Obligation&) { ++left; });
  };
  constexpr std::int64_t count = 50;
  IndicatorSum pairs = {{{-1, 1}, {}}}, chain = pairs, thirds = pairs, open = pairs;
  Guards below;
  for (std::int64_t i = 0; i < count; ++i) {
    const Guard guard{false, atoms.output(static_cast<std::size_t>(i))}, equal{true, guard.poly};
    const Guard outside = complement(guard)[0];
    pairs.insert(pairs.end(), {{{1, count}, {guard}}, {{1, count}, {outside}}});
    chain.push_back({{1, 1}, conjunction(below, {guard})});
    below.push_back(outside);
    thirds.push_back({{1, count}, {equal}});
    for (const Guard& part : complement(equal)) thirds.push_back({{1, count}, {part}});
    open.push_back({{1, count}, {guard}});
  }
  chain.push_back({{1, 1}, below});
  for (const IndicatorSum* indicators : {&pairs, &chain, &thirds}) decide(*indicators);
  CHECK(left == 0);
  CHECK_THROWS_AS(decide(open), CheckError);
  CHECK(left <= 1 << 12);
}

TEST_CASE("terms with contradicting guards count as what they are") {
  Atoms atoms;
  const Poly i = atoms.output(0);
  const Guard positive{false, i - 1}, negative{false, -i - 1}, zero{true, i};
  std::vector<Obligation> left;
  const auto decide = [&](const IndicatorSum& indicators) {
    left.clear();
    require_zero({"test", {}, {}, {}}, indicators, atoms, [&](Obligation each) { left.push_back(std::move(each)); });
  };
  decide({{{1, 1}, {zero, positive}}, {{1, 1}, {positive}}, {{1, 1}, {positive, negative}}, {{-1, 1}, {positive}}});
  CHECK(left.empty());
  decide({{{1, 1}, {zero, positive}}, {{1, 1}, {positive}}, {{1, 1}, {positive, negative}}});
  CHECK_FALSE(left.empty());
  decide({{{1, 1}, {zero, positive, negative}}, {{1, 1}, {positive, negative}}});
  CHECK(std::ranges::all_of(left, [&](const Obligation& each) { return is_trivial(each, atoms); }));
}
