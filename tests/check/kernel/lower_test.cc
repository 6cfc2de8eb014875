#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

std::string difference(const StatementFixture& test) { return test.statement->text(test.statement->difference(0)); }

}  // namespace

TEST_CASE("a contraction is lowered to a sum over a bound index with its range as guards") {
  const StatementFixture test("rule test(x[m, k], y[k, n]) matmul(x, y) => matmul(x, y)");
  CHECK(difference(test) ==
        "1 sum #0 [#0 >= 0] [-1 - #0 + k >= 0] x[@0, #0] y[#0, @1] + "
        "-1 sum #1 [#1 >= 0] [-1 - #1 + k >= 0] x[@0, #1] y[#1, @1]");
}

TEST_CASE("products of sums are distributed") {
  const StatementFixture test("rule test(x[n], y[n], z[n]) mul(x, add(y, z)) => add(mul(x, y), mul(x, z))");
  CHECK(difference(test) == "1 x[@0] y[@0] + 1 x[@0] z[@0] + -1 x[@0] z[@0] + -1 x[@0] y[@0]");
}

TEST_CASE("a case is lowered to guards on both of its branches") {
  const StatementFixture test("rule test(x[n], y[n]) late(x, y) => x",
                              "operator late(x[n], y[n])\n  z[i < n] = x[i] if i >= 5 else y[i]\n");
  CHECK(difference(test) == "1 [-5 + @0 >= 0] x[@0] + 1 [4 - @0 >= 0] y[@0] + -1 x[@0]");
}
