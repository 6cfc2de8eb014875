#include "prove/refuter/refute.h"

#include <catch2/catch.hpp>

#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

Refutation refutation_of(const std::string& text) {
  ProverFixture fixture;
  const auto typed = algebra::infer_types(fixture.rule(text), fixture.bank, fixture.symbols);
  return refute(std::get<algebra::TypedRule>(typed), fixture.bank, fixture.symbols, 1);
}

}  // namespace

TEST_CASE("refute: 0, halves, ones and large numbers are tried") {
  for (const char* rule :
       {"rule at_zero(x[n]) recip(recip(x)) => x", "rule at_zero_of_two(x[d...], y[d...]) mul(div(x, y), y) => x",
        "rule between(x[d...]) larger(mul(x, x), x) => mul(x, x)", "rule at_a_half(x[d...]) floor(x) => x",
        "rule at_a_half(x[d...]) round(x) => x", "rule at_minus_a_half(x[d...]) round(x) => floor(x)",
        "rule beyond_six(x[d...]) relu6(x) => relu(x)"}) {
    INFO(rule);
    CHECK(refutation_of(rule).counterexample.has_value());
  }
}

TEST_CASE("refute: truth values are 0 and 1 and integers are whole, also where operators move them first") {
  for (const char* rule : {"rule same(p[d...]) logical_and(p, p) => p",
                           "rule absorbed(p[d...], q[d...]) logical_and(p, logical_or(p, q)) => p",
                           "rule chosen(p[d...], x[d...]) choose(p, x, x) => x",
                           "rule moved(p[m, n]) logical_or(transpose(p; perm=[1, 0]), transpose(p; perm=[1, 0])) => "
                           "transpose(p; perm=[1, 0])",
                           "rule whole(k[d...]) floor(number_of_integer(k)) => number_of_integer(k)"}) {
    INFO(rule);
    const Refutation refutation = refutation_of(rule);
    CHECK(refutation.compared > 8);
    CHECK_FALSE(refutation.counterexample.has_value());
  }
  for (const char* rule : {"rule either(p[d...], q[d...]) logical_or(p, q) => logical_and(p, q)",
                           "rule opposite(p[d...], x[d...], y[d...]) choose(p, x, y) => choose(p, y, x)",
                           "rule positive(k[d...]) relu(number_of_integer(k)) => number_of_integer(k)"}) {
    INFO(rule);
    CHECK(refutation_of(rule).counterexample.has_value());
  }
}

TEST_CASE("refute: sizes are drawn from the least numbers that the rule allows if small ones do not satisfy it") {
  for (const char* rule :
       {"rule late(x[a, b, c, d, n]) neg(take_one(x; at=14, axis=4)) => take_one(neg(x); at=14, axis=4)",
        "rule wide(x[n, m]) neg(neg(x)) => x\n  when 30 < n, 61 <= 2*m"}) {
    INFO(rule);
    const Refutation refutation = refutation_of(rule);
    CHECK(refutation.compared > 0);
    CHECK_FALSE(refutation.counterexample.has_value());
  }
  CHECK(refutation_of("rule wide(x[n, m]) relu(x) => x\n  when 30 < n, 61 <= 2*m").counterexample.has_value());
}

TEST_CASE("refute: sizes that are all 1 are tried, however rarely random sizes satisfy the condition") {
  const Refutation refutation = refutation_of(
      "rule rare(x[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])\n  relu(x) => x\n"
      "  when a*a = b*b*b, c*c = d*d*d, e*e = f*f*f, g*g = h*h*h, i*i = j*j*j, k*k = l*l*l, m*m = n*n*n, o*o = p*p*p");
  CHECK(refutation.compared > 0);
  CHECK(refutation.counterexample.has_value());
}

TEST_CASE("refute: rounding refutes no true rule, also where large numbers or a function amplify it") {
  for (const char* rule :
       {"rule associates(x[n], y[n], z[n]) add(x, add(y, z)) => add(add(x, y), z)",
        "rule cubes(x[n], y[n]) mul(mul(x, y), mul(x, mul(x, y))) => mul(mul(mul(x, x), x), mul(y, y))",
        "rule quotients(x[n], y[n], z[n]) add(div(x, y), div(z, y)) => div(add(x, z), y)",
        "rule shifted(x[m, n], r[m, 1]) softmax(add(x, r; right=[0, 1])) => softmax(x)",
        "rule shifted_rows(x[m, n], r[m, 1], g[n], b[n], e[])\n"
        "  layer_norm(add(x, r; right=[0, 1]), g, b, e) => layer_norm(x, g, b, e)",
        // inverse_root(t) is 1e19 for t <= 0.
        "rule shifted_by_one(x[m, n], s[], g[n], b[n], e[])\n"
        "  layer_norm(add_scalar(x, s), g, b, e) => layer_norm(x, g, b, e)",
        "rule sum_of_normalized(x[m, n], e[])\n"
        "  reduce_sum(layer_norm(x, ones(; d=[n]), zeros(; d=[n]), e); axes=[1]) => zeros(; d=[m])",
        "rule mean_of_instance_norm(x[n, c, h, w], g[c], b[c], e[])\n"
        "  reduce_mean(instance_norm(x, g, b, e); axes=[2,3]) => repeat(b; how=[2,0], d=[n])",
        // The second element differs only where both sides are undefined.
        "rule undefined_there(y[n])\n"
        "  concat(recip(y), ones(; d=[n]); axis=0) => concat(recip(y), equal_to(equal_to(y, zeros(; d=[n])), zeros(; "
        "d=[n])); axis=0)",
        "rule cancels(x[n], y[n]) sub(mul(add(x, y), sub(x, y)), sub(mul(x, x), mul(y, y))) => sub(x, x)"}) {
    INFO(rule);
    const Refutation refutation = refutation_of(rule);
    CHECK(refutation.compared > 8);
    CHECK_FALSE(refutation.counterexample.has_value());
  }
}

TEST_CASE("the two values of a counterexample are printed with as many digits as tell them apart") {
  Counterexample found;
  found.source = 1;
  found.target = 1 + 0x1p-40;
  CHECK(to_string(found).ends_with("the source is 1, the target 1.000000000001"));
  found.target = 2;
  CHECK(to_string(found).ends_with("the source is 1, the target 2"));
}
