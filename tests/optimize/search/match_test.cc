#include "optimize/search/match.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

std::size_t rewrites(GraphFixture& fixture, const std::vector<ValueId>& outputs) {
  return Matcher(fixture.bank, fixture.terms, fixture.rules).rewrites(outputs, {}).size();
}

TEST_CASE("products with shared weights are merged unless one depends on the other", "[match]") {
  GraphFixture fixture(R"(
rule stack(x:2, y:2, w:2)
  let s = split(matmul(concat(x, y; axis=0), w); axis=0, at=?)
  matmul(x, w), matmul(y, w) => s.first, s.second
)");
  const ValueId w = fixture.weight("w", {8, 8}), p = fixture.op("matmul", {fixture.input("x", {8, 8}), w});
  const ValueId q = fixture.op("matmul", {fixture.input("y", {8, 8}), w}), on_top = fixture.op("matmul", {p, w});
  CHECK(rewrites(fixture, {p, q}) == 2);  // either order
  CHECK(rewrites(fixture, {p, on_top}) == 0);
}

TEST_CASE("a rule applies only if its condition certainly holds", "[match]") {
  GraphFixture fixture(R"(
rule on_squares(x[m, n])
  relu(relu(x)) => relu(x) when m = n
rule of_wide_rows(x[m, n])
  tanh(tanh(x)) => tanh(x) when n >= 4
)");
  const algebra::Poly n = fixture.size("n"), k = fixture.size("k");
  const auto count = [&](const std::string& name, const algebra::Poly& rows, const algebra::Poly& columns) {
    const ValueId x =
        fixture.input(fixture.symbols.to_string(rows) + " " + fixture.symbols.to_string(columns), {rows, columns});
    return rewrites(fixture, {fixture.chain(x, {name, name})});
  };
  CHECK(count("relu", 4, 4) == 1);
  CHECK(count("relu", n, n) == 1);
  CHECK(count("relu", 4, 8) == 0);
  CHECK(count("relu", n, k) == 0);
  CHECK(count("relu", n, 4) == 0);
  CHECK(count("relu", n, n + 1) == 0);
  CHECK(count("tanh", n, 4) == 1);
  CHECK(count("tanh", n, k + 3) == 1);
  CHECK(count("tanh", n, 3) == 0);
  CHECK(count("tanh", n, k + 2) == 0);
}

TEST_CASE("shared sizes of a rule must certainly be equal", "[match]") {
  GraphFixture fixture(R"(
rule square_weights(x[m, k], w[k, k])
  matmul(matmul(x, w), w) => matmul(x, matmul(w, w))
rule equal_weights(x[m, k], v[k, k], w[k, k])
  sub(matmul(x, v), matmul(x, w)) => matmul(x, sub(v, w))
)");
  const algebra::Poly n = fixture.size("n"), k = fixture.size("k");
  const ValueId w = fixture.weight("w", {8, 8}), x = fixture.input("x", {n, 8});
  CHECK(rewrites(fixture, {fixture.op("matmul", {fixture.op("matmul", {x, w}), w})}) == 1);
  const auto difference = [&](const algebra::Poly& columns) {
    const std::string name = fixture.symbols.to_string(columns);
    const ValueId from = fixture.input("from " + name, {n, k}), other = fixture.input("other " + name, {k, columns});
    const ValueId one = fixture.input("one " + name, {k, columns});
    return rewrites(fixture,
                    {fixture.op("sub", {fixture.op("matmul", {from, one}), fixture.op("matmul", {from, other})})});
  };
  CHECK(difference(k) == 1);
  CHECK(difference(n) == 0);
  CHECK(difference(5) == 0);
}

TEST_CASE("a positive variable matches only values that are known to be positive", "[match]") {
  GraphFixture fixture(R"(
rule scaled(x[m, n], c[n] of positive)
  relu(mul(x, c; right=[2, 0])) => mul(relu(x), c; right=[2, 0])
)");
  const algebra::Parameters by_column{{"right", std::vector<std::int64_t>{2, 0}}};
  const ValueId x = fixture.input("x", {4, 3});
  const auto count = [&](ValueId factor) {
    return rewrites(fixture, {fixture.op("relu", {fixture.op("mul", {x, factor}, by_column)})});
  };
  const auto constant = [&](const std::string& name, const std::vector<double>& values) {
    return fixture.weight(name, {3}, values);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const ValueId positive = constant("p", {0.5, 2, 0x1p-20}), given = fixture.input("c", {3});
  CHECK(count(positive) == 1);
  CHECK(count(constant("negative", {0.5, -2, 1})) == 0);
  CHECK(count(constant("zero", {0.5, 0, 1})) == 0);
  CHECK(count(constant("minus zero", {0.5, -0.0, 1})) == 0);
  CHECK(count(constant("infinite", {0.5, infinity, 1})) == 0);
  CHECK(count(constant("undefined", {0.5, std::nan(""), 1})) == 0);
  CHECK(count(given) == 0);
  CHECK(count(fixture.op("relu", {given})) == 0);
  CHECK(count(fixture.op("sigmoid", {given})) == 1);
  CHECK(count(fixture.op("add", {fixture.op("exp", {given}), positive})) == 1);
  CHECK(count(fixture.op("sub", {fixture.op("exp", {given}), positive})) == 0);
  CHECK(count(fixture.op("mul", {fixture.op("exp", {given}), given})) == 0);
}

TEST_CASE("a rule that applies positivity to other terms than variables matches no model", "[match]") {
  const GraphFixture fixture(R"(
rule exponential(x[m, n], a[], b[])
  scale(scale(x, positive(a)), positive(b)) => scale(x, positive(add(a, b)))
rule within_and_without(x[m, n], a[])
  scale(scale(x, positive(a)), a) => scale(scale(x, a), positive(a))
rule one_way(x[m, n] of positive)
  larger(x, relu(x)) => x
)",
                             true);
  const auto patterns = compile_patterns(fixture.rules, fixture.terms);
  REQUIRE(patterns.size() == 1);
  CHECK(patterns[0].rule == 2);
  CHECK_FALSE(patterns[0].reversed);
}

}  // namespace
}  // namespace rulemill::optimize
