#include "check/sum_text.h"

#include <catch2/catch.hpp>

#include "runtime/text/error.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("floor division is simplified only where the result is equal at every point") {
  Atoms atoms;
  const Poly m = atoms.size("m"), n = atoms.size("n"), i = atoms.output(0);
  CHECK(atoms.floor_div(m * n + i, n) == m + atoms.floor_div(i, n));
  CHECK(atoms.floor_div(m - 1, m) == Poly(0));
  CHECK(atoms.floor_div(Poly(2) * m - 1, 2) == m - 1);
  CHECK(atoms.floor_div(-i, 2) != -atoms.floor_div(i, 2));
  CHECK(atoms.floor_div(-1, m) != Poly(0));
  CHECK(atoms.floor_div(atoms.floor_div(i, m), n) == atoms.floor_div(i, m * n));
  CHECK(atoms.floor_div(atoms.floor_div(n, 2), 3 - m) != atoms.floor_div(n, 6 - 2 * m));  // at n = 1, m = 4: 0 and -1
  // A divisor's sign is not reversed; that it is positive has to be shown.
  CHECK(atoms.floor_div(i, m - n) != atoms.floor_div(-i, n - m));
  CHECK(atoms.divisors().contains(m - n));
  CHECK_FALSE(atoms.is_nonnegative(m - n - 1));
  CHECK(atoms.text(atoms.floor_div(i, m - n)) ==
        atoms.text(parse_poly(atoms.text(atoms.floor_div(i, m - n)), "test", atoms)));
}

TEST_CASE("text that is not a polynomial is refused") {
  Atoms atoms;
  for (const char* text : {"", "m +", "m) (assert false", "m*", "2m", "div(m, )", "div(m, 0)", "@", "m\n", "#x", "--m",
                           "99999999999999999999", "min(m)"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_poly(text, "test", atoms), runtime::Error);
  }
  CHECK_THROWS_AS(atoms.size("a) (assert false"), runtime::InputError);
}
