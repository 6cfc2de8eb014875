#include "check/number.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("a reciprocal is exact, and that of 0 is 0") {
  const Number a = random_number(0x123456789abcdef0ULL);
  CHECK(multiply(a, reciprocal(a)) == from_integer(1));
  CHECK(reciprocal(from_integer(0)) == from_integer(0));
  CHECK(add(a, negate(a)) == from_integer(0));
}

TEST_CASE("numbers whose reals are too close are not compared") {
  CHECK(is_less(from_integer(-1), from_integer(0)));
  CHECK_FALSE(is_less(from_integer(2), from_integer(2)));
  Number close = from_integer(2);
  close.real = 1;
  CHECK_THROWS_AS(is_less(from_integer(1), close), Undecided);
}

TEST_CASE("exp turns sums into products") {
  const algebra::Library library = algebra::Library::load(RULEMILL_SOURCE_DIR "/data/operators");
  const auto functions = library.functions();
  const auto exp = std::ranges::find_if(functions, [](const auto& function) { return function.exponential; });
  REQUIRE(exp != functions.end());
  const auto number = static_cast<std::uint32_t>(exp - functions.begin());
  const Number s = random_number(0x123456789abcdef0ULL), t = random_number(0xfedcba9876543210ULL);
  CHECK(apply(*exp, number, {add(s, t)}) == multiply(apply(*exp, number, {s}), apply(*exp, number, {t})));
  CHECK(apply(*exp, number, {from_integer(0)}) == from_integer(1));
}
