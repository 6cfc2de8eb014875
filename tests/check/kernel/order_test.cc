#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("products cancel in Order only if they cancel in every case") {
  StatementFixture relu("rule test(x:2) relu(x) => add(x, relu(neg(x)))");
  CHECK(relu.outcome(" order 0 1 2\n") == "");
  check_contains(relu.outcome(" order 0 1\n"), "not cancel in every case");
  check_contains(relu.outcome(" order 0 0 1 2\n"), "distinct products");
  check_contains(relu.outcome(" order 0 1 9\n"), "there is no product 9");
  check_contains(relu.outcome(" order\n"), "there is no position 0");
  StatementFixture sums(
      "rule test(x[m, n]) reduce_sum_keepdims(relu(x); axes=[1]) => reduce_sum_keepdims(x; axes=[1])");
  check_contains(sums.outcome(" order 0 1\n"), "different guards or bound indices");
  struct Example {
    const char* rule;
    const char* products;
    bool holds;
  };
  for (const auto& [rule, products, holds] :
       {Example{"rule test(x:2) relu(x) => x", "0 1", false},
        Example{"rule test(x:2) relu(exp(x)) => exp(x)", "0 1", true},
        Example{"rule test(x:2) relu(tanh(x)) => tanh(x)", "0 1", false},
        Example{"rule test(x:2) relu(neg(exp(x))) => exp(x)", "0 1", false},
        // Three comparisons, of which two decide the third: x < y, y < z, z < x is contradictory.
        Example{"rule test(x:2, y:2, z:2) larger(x, larger(y, z)) => larger(larger(x, y), z)", "0 1", true},
        Example{"rule test(x:2, y:2, z:2) larger(x, larger(y, z)) => larger(larger(x, y), y)", "0 1", false},
        // A product's sign is that of its factors.
        Example{"rule test(x:2, y:2) abs(mul(x, y)) => mul(abs(x), abs(y))", "0 1", true},
        Example{"rule test(x:2, y:2) relu(mul(x, y)) => mul(relu(x), relu(y))", "0 1", false},
        Example{"rule test(x:2, y:2) mul(abs(x), abs(y)) => mul(x, y)", "0 1", false},
        Example{"rule test(x:2) hard_swish(x) => mul(x, hard_swish(x))", "0 1", false},
        // With comparisons, points at which both sides are equal count.
        Example{"rule test(x:2, y:2) at_most(x, y) => less(x, y)", "0 1 2", false},
        Example{"rule test(x:2, y:2) at_most(x, y) => greater(y, x)", "0 1 2", false},
        Example{"rule test(x:2, y:2) greater(x, y) => less(y, x)", "0 1", true},
        Example{"rule test(x:2, y:2) mul(less(x, y), less(y, x)) => mul(equal_to(x, y), less(x, y))", "0 1", true},
        Example{"rule test(x:2, y:2) mul(equal_to(x, y), x) => mul(equal_to(x, y), y)", "0 1", true},
        Example{"rule test(x:2, y:2) mul(equal_to(x, y), x) => mul(at_most(x, y), y)", "0 1 2", false},
        Example{"rule test(x:2, y:2, z:2) mul(equal_to(x, y), mul(x, z)) => mul(equal_to(x, y), mul(y, z))", "0 1",
                true},
        Example{"rule test(x:2, y:2, z:2) mul(equal_to(x, y), mul(x, z)) => mul(equal_to(x, y), mul(y, x))", "0 1",
                false},
        Example{
            "rule test(x:2, y:2, z:2) mul(equal_to(mul(x, x), mul(y, z)), x) => mul(equal_to(mul(x, x), mul(y, z)), y)",
            "0 1", false},
        Example{"rule test(x:2, y:2) choose(less(x, y), y, x) => larger(x, y)", "0 1", true},
        Example{"rule test(x:2, y:2) choose(less(x, y), x, y) => larger(x, y)", "0 1", false},
        // The form x + x·y has no factor of its own to eliminate.
        Example{
            "rule test(x:2, y:2) mul(equal_to(add(x, mul(x, y)), sub(x, x)), x) => mul(equal_to(x, neg(mul(x, y))), x)",
            "0 1", true},
        Example{
            "rule test(x:2, y:2) mul(equal_to(add(y, mul(x, y)), sub(x, x)), y) => mul(equal_to(y, neg(mul(x, y))), y)",
            "0 1", true},
        Example{"rule test(x:2, y:2) mul(equal_to(add(y, mul(x, y)), sub(x, x)), y) => mul(equal_to(x, y), y)", "0 1",
                false},
        // A square and a relu can be 0, an exponential cannot.
        Example{"rule test(x:2) less(mul(x, x), sub(x, x)) => mul(less(x, x), x)", "0 1", true},
        Example{"rule test(x:2) less(sub(x, x), mul(x, x)) => less(sub(x, x), exp(x))", "0 1", false},
        Example{"rule test(x:2) less(neg(mul(x, x)), sub(x, x)) => less(neg(mul(exp(x), x)), sub(x, x))", "0 1", false},
        Example{"rule test(x:2) choose(less(sub(x, x), exp(x)), x, neg(x)) => x", "0 1", true},
        Example{"rule test(x:2) choose(less(sub(x, x), relu(x)), exp(x), neg(x)) => exp(x)", "0 1", false},
        // Over the reals a test for NaN or infinity is constant; no proof may use that.
        Example{"rule test(x:2, y:2) choose(is_none(x), y, x) => x", "0 1", false},
        Example{"rule test(x:2, y:2) choose(is_infinite(x), y, x) => x", "0 1", false}}) {
    StatementFixture test(rule);
    INFO(rule);
    CHECK(test.outcome(std::string(" order ") + products + "\n") ==
          (holds ? "" : "the products do not cancel in every case"));
  }
}

TEST_CASE("a function that is 0 everywhere has no known sign, which would exclude all cases") {
  StatementFixture test("rule test(x:2) add(relu(x), nil(x)) => x",
                        "function nil(t) = 0 * exp(t)\noperator nil(x[d...])\n  y[i... < d...] = nil(x[i...])\n");
  check_contains(test.outcome(" order 0 1 2\n"), "not cancel in every case");
}

TEST_CASE("a case analysis ends, by its limit if it takes too much work") {
  // Where s = 1/s, the reciprocal of 1/s is none of a new unknown.
  StatementFixture quotient("rule test(x:2, y:2) once(x, y) => twice(x, y)",
                            "function once(s, t) = equal(1 / s, min(s, t))\n"
                            "function twice(s, t) = equal(1 / s, min(s, t)) * power(s, 0)\n"
                            "operator once(x[d...], y[d...])\n  y[i... < d...] = once(x[i...], y[i...])\n"
                            "operator twice(x[d...], y[d...])\n  y[i... < d...] = twice(x[i...], y[i...])\n");
  CHECK(quotient.outcome(" order 0 1\n") == "expected a proof of each definedness condition");
  StatementFixture orders(
      "rule test(a:1, b:1, c:1, d:1, e:1, f:1, g:1, h:1) "
      "larger(a, larger(b, larger(c, larger(d, larger(e, larger(f, larger(g, h))))))) => "
      "larger(h, larger(g, larger(f, larger(e, larger(d, larger(c, larger(b, a)))))))");
  check_contains(orders.outcome(" order 0 1\n"), "too much work");
  // Few cases, but each of them multiplies long sums.
  std::string sum = "a";
  for (int i = 0; i < 7; ++i) sum = "add(seventh(add(a, add(b, add(c, d)))), add(" + sum + ", " + sum + "))";
  StatementFixture products("rule test(a:1, b:1, c:1, d:1) add(larger(a, larger(b, larger(c, d))), " + sum +
                                ") => add(larger(d, larger(c, larger(b, a))), " + sum + ")",
                            "function seventh(t) = power(t, 7)\n"
                            "operator seventh(x[d...])\n  y[i... < d...] = seventh(x[i...])\n");
  std::string all = " order";
  for (std::size_t i = 0; i < products.statement->difference(0).size(); ++i) all += " " + std::to_string(i);
  check_contains(products.outcome(all + "\n"), "too much work");
}

namespace {

/// Whether the step Order cancels all products of source minus target.
bool cancels(const std::string& rule) {
  const StatementFixture test(rule);
  Sum sum = test.statement->difference(0);
  Step step;
  step.op = Step::Op::Order;
  for (std::size_t p = 0; p < sum.size(); ++p) step.positions.push_back(p);
  try {
    const Guards given = conjunction(test.statement->facts(), test.statement->index_ranges(0));
    Kernel(*test.statement, {}).apply(sum, {given, {}}, step);
  } catch (const CheckError&) {
    return false;
  }
  return sum.empty();
}

}  // namespace

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
           "remainder(x, neg(y)) => remainder(x, y)",
           "remainder(exp(x), add(exp(x), exp(y))) => exp(x)",
           // Where a divisor is 0, a remainder counts as 0.
           "remainder(x, sub(x, x)) => sub(x, x)",
           "mul(equal_to(y, sub(y, y)), remainder(x, y)) => sub(x, x)",
           "power(x, sub(x, x)) => power(relu(x), sub(x, x))",
           "power(x, add(less(y, y), equal_to(y, y))) => x",
       }) {
    INFO(rule);
    CHECK(cancels(std::string("rule test(x:2, y:2) ") + rule));
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
    CHECK_FALSE(cancels(std::string("rule test(x:2, y:2) ") + rule));
  }
}
