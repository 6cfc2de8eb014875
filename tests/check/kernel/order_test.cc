#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

namespace {

/// Whether the step Order, with the cases that a solver closes, cancels all products of source minus target.
bool cancels(const std::string& rule, const std::string& definitions = "") {
  StatementFixture test("rule test(x:2, y:2, z:2) " + rule, definitions);
  Sum sum = test.statement->difference(0);
  const std::optional<Step> step = test.order(sum, test.context().given);
  if (!step) return false;
  Kernel(*test.statement, [](const Obligation&) {}).apply(sum, test.context(), *step);
  return sum.empty();
}

}  // namespace

TEST_CASE("products cancel in Order only if they cancel in every case") {
  struct Example {
    const char* rule;
    bool holds;
  };
  for (const auto& [rule, holds] : std::initializer_list<Example>{
           {"relu(x) => x", false},
           {"relu(exp(x)) => exp(x)", true},
           {"relu(tanh(x)) => tanh(x)", false},
           {"relu(neg(exp(x))) => exp(x)", false},
           // Three comparisons, of which two decide the third: x < y, y < z, z < x is contradictory.
           {"larger(x, larger(y, z)) => larger(larger(x, y), z)", true},
           {"larger(x, larger(y, z)) => larger(larger(x, y), y)", false},
           // A product's sign is that of its factors.
           {"abs(mul(x, y)) => mul(abs(x), abs(y))", true},
           {"relu(mul(x, y)) => mul(relu(x), relu(y))", false},
           {"mul(abs(x), abs(y)) => mul(x, y)", false},
           {"hard_swish(x) => mul(x, hard_swish(x))", false},
           // With comparisons, points at which both sides are equal count.
           {"at_most(x, y) => less(x, y)", false},
           {"at_most(x, y) => greater(y, x)", false},
           {"greater(x, y) => less(y, x)", true},
           {"mul(less(x, y), less(y, x)) => mul(equal_to(x, y), less(x, y))", true},
           {"mul(equal_to(x, y), x) => mul(equal_to(x, y), y)", true},
           {"mul(equal_to(x, y), x) => mul(at_most(x, y), y)", false},
           {"mul(equal_to(x, y), mul(x, z)) => mul(equal_to(x, y), mul(y, z))", true},
           {"mul(equal_to(x, y), mul(x, z)) => mul(equal_to(x, y), mul(y, x))", false},
           {"mul(equal_to(mul(x, x), mul(y, z)), x) => mul(equal_to(mul(x, x), mul(y, z)), y)", false},
           {"choose(less(x, y), y, x) => larger(x, y)", true},
           {"choose(less(x, y), x, y) => larger(x, y)", false},
           // The form x + x·y has no factor of its own to eliminate.
           {"mul(equal_to(add(x, mul(x, y)), sub(x, x)), x) => mul(equal_to(x, neg(mul(x, y))), x)", true},
           {"mul(equal_to(add(y, mul(x, y)), sub(x, x)), y) => mul(equal_to(y, neg(mul(x, y))), y)", true},
           {"mul(equal_to(add(y, mul(x, y)), sub(x, x)), y) => mul(equal_to(x, y), y)", false},
           // A square and a relu can be 0, an exponential cannot.
           {"less(mul(x, x), sub(x, x)) => mul(less(x, x), x)", true},
           {"less(sub(x, x), mul(x, x)) => less(sub(x, x), exp(x))", false},
           {"less(neg(mul(x, x)), sub(x, x)) => less(neg(mul(exp(x), x)), sub(x, x))", false},
           {"choose(less(sub(x, x), exp(x)), x, neg(x)) => x", true},
           {"choose(less(sub(x, x), relu(x)), exp(x), neg(x)) => exp(x)", false},
           // Over the reals a test for NaN or infinity is constant; no proof may use that.
           {"choose(is_none(x), y, x) => x", false},
           {"choose(is_infinite(x), y, x) => x", false}}) {
    INFO(rule);
    CHECK(cancels(rule) == holds);
  }
}

TEST_CASE("a function that is 0 everywhere has no known sign, which would exclude all cases") {
  CHECK_FALSE(cancels("add(relu(x), nil(x)) => x",
                      "function nil(t) = 0 * exp(t)\noperator nil(x[d...])\n  y[i... < d...] = nil(x[i...])\n"));
}

TEST_CASE("where s = 1/s, the reciprocal of 1/s is none of a new unknown") {
  CHECK(cancels("once(x, y) => twice(x, y)",
                "function once(s, t) = equal(1 / s, min(s, t))\n"
                "function twice(s, t) = equal(1 / s, min(s, t)) * power(s, 0)\n"
                "operator once(x[d...], y[d...])\n  y[i... < d...] = once(x[i...], y[i...])\n"
                "operator twice(x[d...], y[d...])\n  y[i... < d...] = twice(x[i...], y[i...])\n"));
}

TEST_CASE("Order evaluates floor, quotients where they are defined, and powers of natural exponents") {
  for (const char* rule : {
           "floor(floor(x)) => floor(x)",
           "round(round(x)) => round(x)",
           "larger(x, floor(x)) => x",
           "larger(round(x), round(floor(y))) => larger(floor(y), round(x))",
           "floor(add(x, floor(y))) => add(floor(x), floor(y))",
           "floor(mul(floor(x), floor(y))) => mul(floor(x), floor(y))",
           "less(x, floor(x)) => mul(less(x, x), x)",
           "choose(less(floor(x), x), x, floor(x)) => x",
           "remainder(remainder(x, y), y) => remainder(x, y)",
           // Where a divisor is 0, a remainder counts as 0.
           "remainder(x, sub(x, x)) => sub(x, x)",
           "mul(equal_to(y, sub(y, y)), remainder(x, y)) => sub(x, x)",
           "power(x, sub(x, x)) => power(relu(x), sub(x, x))",
           "power(x, add(less(y, y), equal_to(y, y))) => x",
       }) {
    INFO(rule);
    CHECK(cancels(rule));
  }
  for (const char* rule : {
           "floor(floor(x)) => x",
           "larger(x, floor(x)) => floor(x)",
           "mul(less(x, larger(x, floor(y))), y) => mul(less(x, y), y)",
           "floor(add(x, y)) => add(floor(x), floor(y))",
           "floor(mul(floor(x), y)) => mul(floor(x), floor(y))",
           "less(floor(x), x) => mul(less(x, x), x)",
           "remainder(remainder(x, y), x) => remainder(x, y)",
           "remainder(neg(x), y) => remainder(x, y)",
           "remainder(exp(x), add(x, exp(y))) => exp(x)",
           "remainder(exp(x), exp(y)) => exp(x)",
           "remainder(x, sub(x, x)) => x",
           "mul(equal_to(y, sub(y, y)), remainder(x, y)) => mul(equal_to(y, sub(y, y)), x)",
           "mul(x, mul(y, recip(y))) => add(x, mul(remainder(x, y), sub(x, x)))",
           "power(x, relu(x)) => power(x, x)",
           "power(x, less(x, y)) => x",
           "power(x, neg(equal_to(x, x))) => x",
       }) {
    INFO(rule);
    CHECK_FALSE(cancels(rule));
  }
}
