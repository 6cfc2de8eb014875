#include "check/kernel/atoms.h"

#include <catch2/catch.hpp>

#include "runtime/text/error.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("floor division is simplified only where the result is equal at every point") {
  Atoms atoms;
  const Poly m = atoms.size("m"), n = atoms.size("n"), i = atoms.output(0);
  CHECK(atoms.quotient(m * n + i, n) == m + atoms.quotient(i, n));
  CHECK(atoms.quotient(m - 1, m) == Poly(0));
  CHECK(atoms.quotient(Poly(2) * m - 1, 2) == m - 1);
  CHECK(atoms.quotient(-i, 2) != -atoms.quotient(i, 2));
  CHECK(atoms.quotient(-1, m) != Poly(0));
  CHECK(atoms.quotient(atoms.quotient(i, m), n) == atoms.quotient(i, m * n));
  CHECK(atoms.quotient(atoms.quotient(n, 2), 3 - m) != atoms.quotient(n, 6 - 2 * m));  // at n = 1, m = 4: 0 and -1
  // A divisor's sign is not reversed; that it is positive has to be shown.
  CHECK(atoms.quotient(i, m - n) != atoms.quotient(-i, n - m));
  CHECK(atoms.divisors().contains(m - n));
  CHECK_FALSE(atoms.is_nonnegative(m - n - 1));
  CHECK(atoms.text(atoms.quotient(i, m - n)) == atoms.text(atoms.parse(atoms.text(atoms.quotient(i, m - n)), "test")));
}

TEST_CASE("text that is not a polynomial is refused") {
  Atoms atoms;
  for (const char* text : {"", "m +", "m) (assert false", "m*", "2m", "div(m, )", "div(m, 0)", "@", "m\n", "#x", "--m",
                           "99999999999999999999", "min(m)"}) {
    INFO(text);
    CHECK_THROWS_AS(atoms.parse(text, "test"), runtime::Error);
  }
  CHECK_THROWS_AS(atoms.size("a) (assert false"), runtime::InputError);
}
