#include "tests/check/kernel/checker_fixture.h"

using namespace rulemill;
using namespace rulemill::check;

TEST_CASE("a law is used only for functions that declare it") {
  StatementFixture sigmoid("rule test(x:2) sigmoid(sigmoid(x)) => sigmoid(x)");
  check_contains(sigmoid.outcome(" idempotent 0 0\n cancel 0 1\n"), "not f(f(t)) of an idempotent function");
  StatementFixture relu("rule test(x:2) relu(relu(x)) => relu(x)");
  CHECK(relu.check_steps(" idempotent 0 0\n cancel 0 1\n").obligations.empty());
  StatementFixture exponential("rule test(x:2) exp(sub(x, x)) => sub(x, x)");
  check_contains(exponential.outcome(" within 0 0 0\n  cancel 0 1\n end\n zero 0 0\n cancel 0 1\n"),
                 "the factor is not zero");
}

TEST_CASE("CountRange applies only if nothing but its range contains the index") {
  StatementFixture test("rule test(x[m, n]) mean_last(ones(; d=[m, n])) => ones(; d=[m, 1])");
  // from 1 sum #0 [#0 >= 0] [-1 + n - #0 >= 0] 1/(n), and -1
  CHECK(test.outcome(" count_range 0: #0 := 0; -1 + n\n cancel_reciprocal 0 1 0\n cancel 0 1\n") == "");
  check_contains(test.outcome(" count_range 0: #0 := 1; -1 + n\n"), "a different range");
  check_contains(test.outcome(" count_range 0: #0 := 0; n\n"), "a different range");
  check_contains(test.outcome(" count_range 1: #0 := 0; -1 + n\n"), "not bound");
  check_contains(test.outcome(" count_range 0: #0 := 0; -1 + n\n cancel_reciprocal 0 0 1\n"), "not p and 1/p");
  check_contains(test.outcome(" count_range 0: #0 := 0; -1 + n\n cancel 0 1\n"), "different factors");
  check_contains(test.outcome(" cancel_reciprocal 0 0 0\n"), "not p and 1/p");
  check_contains(test.outcome(" expand 0 0\n"), "not an integer");
  StatementFixture sum("rule test(x[m, n]) mean_last(x) => mean_last(x)");
  check_contains(sum.outcome(" count_range 0: #0 := 0; -1 + n\n"), "is not bound there");
}

TEST_CASE("only terms without the bound indices are taken out of a maximum, at a point of its range") {
  StatementFixture test(
      "rule test(x[m, n], r[m, 1]) reduce_max_keepdims(add(x, r; right=[0, 1]); axes=[1]) => "
      "add(reduce_max_keepdims(x; axes=[1]), r)");
  check_contains(test.outcome(" instantiate_max 0 0: 0\n"), "nothing cancels");
  check_contains(test.outcome(" instantiate_max 0 0: n\n"), "nothing cancels");
  check_contains(test.outcome(" instantiate_max 0 0: #0\n"), "is not bound there");
  check_contains(test.outcome(" instantiate_max 0 0:\n"), "expected a point");
  check_contains(test.outcome(" instantiate_max 2 0: 0\n"), "every product in the maximum depends on its indices");
  check_contains(test.outcome(" scale 0 0\n"), "no common positive factor");
  check_contains(test.outcome(" flatten 0 0: 0\n"), "not a maximum of a maximum");
  check_contains(test.outcome(" monotone 0 0: 0\n"), "nondecreasing");
  check_contains(test.outcome(" projectmax 0 0: #0 := 0\n"), "is not bound there");
  check_contains(test.outcome(" new_indexmax 0 0: #0 := 0\n"), "is in use");
  check_contains(test.outcome(" new_indexmax 0 0: @0 := 0\n"), "is in use");
  check_contains(test.outcome(" new_indexmax 0 0: #9 := #9\n"), "is not bound there");
  check_contains(test.outcome(" new_indexmax 0 0: #9 := #8\n"), "is not bound there");
  check_contains(test.outcome(" new_index 0: #0 := 0\n"), "is in use");
  check_contains(test.outcome(" project 0: #0 := 0\n"), "expected a step on a maximum, found 'project'");
}

TEST_CASE("that a range has a point is an obligation if the range may be empty") {
  // 1 max(#0 #1 …: 1 sigmoid(…)): the middle of the window is in the image, its corner may not be.
  StatementFixture test("rule test(x[n, c, h, w]) max_pool(sigmoid(x); kernel=3) => sigmoid(max_pool(x; kernel=3))");
  check_contains(test.outcome(" monotone 0 0: 1; 1\n"), "nothing cancels");
  for (const std::string point : {"0; 0", "1; 1"}) {
    std::vector<Obligation> obligations;
    Kernel kernel(*test.statement, [&](Obligation o) { obligations.push_back(std::move(o)); });
    Sum sum = test.statement->difference(0);
    Kernel::Context context{test.statement->facts(), {}};
    for (Guard& guard : test.statement->index_ranges(0)) context.given.push_back(std::move(guard));
    std::string text = "typing\noutput\n monotone 0 0: " + point + "\n";
    kernel.run(sum, context, parse_proof(text, "proof", 1, test.atoms).outputs[0].steps);
    CHECK(obligations.empty() == (point == "1; 1"));
  }
  StatementFixture relu("rule test(x[n, c, h, w]) max_pool(relu(x); kernel=3) => relu(max_pool(x; kernel=3))");
  check_contains(relu.outcome(" monotone 0 0:\n"), "nothing cancels");
  StatementFixture abs("rule test(x[n, c, h, w]) max_pool(abs(x); kernel=3) => abs(max_pool(x; kernel=3))");
  check_contains(abs.outcome(" monotone 0 0: 1; 1\n"), "nondecreasing");
}

TEST_CASE("functions scale, split and have exact values by their laws") {
  StatementFixture power("rule test(x:2, y:2) exp(add(x, y)) => mul(exp(x), exp(y))");
  CHECK(power.outcome(" split_exp 0 0 1\n cancel 0 1\n") == "");
  CHECK(power.outcome(" merge_exp 1 0 1\n same 1 0 0 = 0 0 0\n end\n").find("expected") != std::string::npos);
  check_contains(power.outcome(" split_exp 0 0 2\n"), "there is no product 2");
  check_contains(power.outcome(" merge_exp 1 0 0\n"), "not values of one exponential function");
  check_contains(power.outcome(" constant 0 0\n"), "is not a number");
  check_contains(power.outcome(" scale 0 0\n"), "no scaling law");
  StatementFixture relu("rule test(x:2, y:2) relu(add(x, y)) => add(relu(x), relu(y))");
  check_contains(relu.outcome(" split_exp 0 0 1\n"), "not exponential");
  check_contains(relu.outcome(" scale 0 0\n"), "no common positive factor");
  check_contains(relu.outcome(" collect_terms 1 2\n"), "different factors");
  check_contains(relu.outcome(" collect_terms 1 1\n"), "distinct products");
  StatementFixture any("rule test(x:2, y:2) relu(mul(x, y)) => mul(relu(x), y)");
  check_contains(any.outcome(" scale 0 0\n"), "no common positive factor");
  StatementFixture minus("rule test(x:2) relu(neg(x)) => neg(relu(x))");
  check_contains(minus.outcome(" scale 0 0\n"), "no common positive factor");
  StatementFixture mean("rule test(x[m, n]) relu(mean_last(x)) => mean_last(relu(x))");
  check_contains(mean.outcome(" scale 0 0\n"), "nothing cancels 1 relu(1 sum");
  StatementFixture one("rule test(x[m, n]) exp(ones(; d=[m, n])) => ones(; d=[m, n])");
  check_contains(one.outcome(" constant 0 0\n"), "no exact value");
}

TEST_CASE("Parity applies only to functions with a parity law") {
  StatementFixture odd("rule test(x:2) tanh(neg(x)) => neg(tanh(x))");
  CHECK(odd.outcome(" parity 0 0\n cancel 0 1\n") == "");
  CHECK(odd.outcome(" parity 1 0\n cancel 0 1\n") == "");
  check_contains(odd.outcome(" parity 0 0\n parity 1 0\n cancel 0 1\n"), "different factors");
  StatementFixture even("rule test(x:2) cos(neg(x)) => cos(x)");
  CHECK(even.outcome(" parity 0 0\n cancel 0 1\n") == "");
  StatementFixture neither("rule test(x:2) sigmoid(neg(x)) => x");
  check_contains(neither.outcome(" parity 0 0\n"), "no parity law");
  check_contains(neither.outcome(" parity 1 0\n"), "no parity law");
}

TEST_CASE("CancelSum applies only if the divisor is total and its signs exclude 0") {
  // The product is sum #0 [#0 >= 0] [-1 + n - #0 >= 0] t(#0) 1/(sum #1 … t(#1)).
  const auto outcome = [](const std::string& t) {
    StatementFixture test("rule test(x[m, n]) reduce_sum_keepdims(div(" + t + ", reduce_sum_keepdims(" + t +
                          "; axes=[1]); right=[0, 1]); axes=[1]) => " + "ones(; d=[m, 1])");
    const Factor quotient = test.statement->difference(0).at(0).factors.back();
    const auto name = [&](Atom atom) { return test.atoms.text(Poly(atom)); };
    const std::string own = name(test.statement->difference(0)[0].bound.at(0));
    const std::string other = name(quotient.arguments.at(0).at(0).bound.at(0));
    const std::string f = std::to_string(test.statement->difference(0)[0].factors.size() - 1);
    return test.outcome(" cancel_sum 0 " + f + "\n  map 0: " + own + " := " + other + " <- " + other + " := " + own +
                        "\n  cancel 0 1\n end\n cancel 0 1\n");
  };
  CHECK(outcome("exp(x)") == "expected a proof of each definedness condition");  // the values are proved equal
  check_contains(outcome("x"), "signs do not exclude");
  check_contains(outcome("mul(x, x)"), "signs do not exclude");
  CHECK(outcome("recip(exp(x))") == "expected a proof of each definedness condition");
  check_contains(outcome("recip(x)"), "signs do not exclude");  // 0 where x is
  StatementFixture power("rule test(x:2) mul(exp(x), exp(neg(x))) => x");
  check_contains(power.outcome(" cancel_sum 0 0\n end\n"), "not 1/t");
  StatementFixture varies("rule test(x[m, n]) reduce_sum_keepdims(div(exp(x), exp(x)); axes=[1]) => ones(; d=[m, 1])");
  check_contains(varies.outcome(" cancel_sum 0 1\n end\n"), "depends on a bound index");
}

TEST_CASE("Monotone applies to a maximum of two values of a nondecreasing function") {
  StatementFixture tanh("rule test(x:2, y:2) larger(tanh(x), tanh(y)) => tanh(larger(x, y))");
  CHECK(tanh.outcome(" monotone 0 0:\n cancel 0 1\n") == "");
  check_contains(tanh.outcome(" monotone 1 0:\n"), "nondecreasing");
  StatementFixture two("rule test(x:2, y:2) larger(tanh(x), erf(y)) => tanh(larger(x, y))");
  check_contains(two.outcome(" monotone 0 0:\n"), "the functions differ");
  StatementFixture falls("rule test(x:2, y:2) larger(abs(x), abs(y)) => abs(larger(x, y))");
  check_contains(falls.outcome(" monotone 0 0:\n"), "nondecreasing");
  StatementFixture sum("rule test(x:2, y:2) larger(add(tanh(x), x), tanh(y)) => tanh(larger(x, y))");
  check_contains(sum.outcome(" monotone 0 0:\n"), "nondecreasing");
  StatementFixture zero("rule test(x:2) relu(tanh(x)) => tanh(relu(x))");
  CHECK(zero.outcome(" monotone 0 0:\n cancel 0 1\n") == "");
  StatementFixture half("rule test(x:2) relu(sigmoid(x)) => sigmoid(relu(x))");
  check_contains(half.outcome(" monotone 0 0:\n"), "changes the number");
}
