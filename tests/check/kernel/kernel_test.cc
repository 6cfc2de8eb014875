#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("unsound steps are refused") {
  const std::string sum =
      "rule test(x[m, k], a[k, n], b[k, n]) add(matmul(x, a), matmul(x, b)) => matmul(x, add(a, b))";
  const std::string first = "from 1 sum #0 [#0 >= 0] [-1 + k - #0 >= 0] x[@0, #0] a[#0, @1]";
  StatementFixture test(sum);
  check_contains(" from " + test.statement->text(test.statement->difference(0)[0]), first.substr(5));

  SECTION("the proof") {
    CHECK(test.check_steps(" map 2: #2 := #0 <- #0 := #2\n cancel 0 2\n map 1: #2 := #1 <- #1 := #2\n cancel 0 1\n")
              .obligations.empty());
  }
  SECTION("no steps") { check_contains(test.outcome(""), "nothing cancels"); }
  SECTION("factors that differ") {
    check_contains(test.outcome(" map 3: #2 := #0 <- #0 := #2\n cancel 0 3\n"), "have different factors");
  }
  SECTION("indices that are not made the same") {
    check_contains(test.outcome(" cancel 0 2\n"), "have different factors");
  }
  SECTION("a map that is not onto") {
    check_contains(test.outcome(" map 2: #2 := 2*#0 <- #0 := #2\n"), "not inverse to each other");
  }
  SECTION("a map that is not one-to-one, with an inverse that uses its own result") {
    check_contains(test.outcome(" map 2: #2 := div(#0, 2) <- #0 := 2*#2 + #0 - 2*div(#0, 2)\n"),
                   "#0 is not bound there");
  }
  SECTION("a map that lacks an index") {
    check_contains(test.outcome(" map 2:  <- \n"), "not defined on exactly the bound indices");
  }
  SECTION("an index set to a polynomial that contains it") {
    check_contains(test.outcome(" set 0: #0 := #0 + 1\n"), "value of an index contains the index");
  }
  SECTION("an index of another product") { check_contains(test.outcome(" set 0: #0 := #2\n"), "is not bound there"); }
  SECTION("a dropped product leaves an obligation") {
    const CheckedProof checked = test.check_steps(" drop 0\n drop 0\n drop 0\n drop 0\n");
    CHECK(checked.obligations.size() == 4);
    CHECK_FALSE(checked.obligations[0].goal);
  }
  SECTION("an index set to one of its values") {
    check_contains(test.outcome(" set 0: #0 := 0\n cancel 0\n"), "nothing cancels");
  }
  SECTION("a position beyond the sum") { check_contains(test.outcome(" drop 9\n"), "there is no product 9"); }
  SECTION("a product that is cancelled twice") { check_contains(test.outcome(" cancel 0 0\n"), "distinct products"); }
  SECTION("an unknown step") { check_contains(test.outcome(" assume 0\n"), "expected a step, found 'assume 0'"); }
  SECTION("a block without end") { check_contains(test.outcome(" within 0 0 0\n  drop 0\n"), "expected 'end'"); }
}
