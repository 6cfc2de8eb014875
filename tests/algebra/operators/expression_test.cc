#include <catch2/catch.hpp>

#include "algebra/operators/expression.h"
#include "runtime/text/error.h"

namespace rulemill::algebra {
namespace {

TEST_CASE("fractions with one long denominator are added within 64 bits", "[expression]") {
  const Rational tiny{1, 250'000'000'000'000};
  CHECK(tiny + tiny == Rational{1, 125'000'000'000'000});
  CHECK(tiny + -tiny == Rational{0, 1});
  CHECK(Rational{1, 6} + Rational{3, 10} == Rational{7, 15});
}

TEST_CASE("a sum of fractions whose least common denominator exceeds 64 bits is an error", "[expression]") {
  const Rational first{1, 4'294'967'291}, second{1, 4'294'967'279};
  CHECK_THROWS_AS(first + second, runtime::Error);
}

}  // namespace
}  // namespace rulemill::algebra
