#include "optimize/match.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/optimize/graphs.h"

namespace rulemill::optimize {
namespace {

std::size_t rewrites(Workshop& shop, const std::vector<ValueId>& outputs) {
  return Matcher(shop.bank, shop.terms, shop.rules).rewrites(outputs, {}).size();
}

TEST_CASE("products that share their weights are merged, and not where one feeds the other", "[match]") {
  Workshop shop(R"(
rule stack(x:2, y:2, w:2)
  let s = split(matmul(concat(x, y; axis=0), w); axis=0, at=?)
  matmul(x, w), matmul(y, w) => s.first, s.second
)");
  const ValueId w = shop.weight("w", {8, 8}), p = shop.op("matmul", {shop.input("x", {8, 8}), w});
  const ValueId q = shop.op("matmul", {shop.input("y", {8, 8}), w}), on_top = shop.op("matmul", {p, w});
  CHECK(rewrites(shop, {p, q}) == 2);  // either order
  CHECK(rewrites(shop, {p, on_top}) == 0);
}

TEST_CASE("a rule applies where its condition holds for sure, and neither where it fails nor where it is open",
          "[match]") {
  Workshop shop(R"(
rule on_squares(x[m, n])
  relu(relu(x)) => relu(x) when m = n
rule of_wide_rows(x[m, n])
  tanh(tanh(x)) => tanh(x) when n >= 4
)");
  const algebra::Poly n = shop.size("n"), k = shop.size("k");
  const auto count = [&](const std::string& name, const algebra::Poly& rows, const algebra::Poly& columns) {
    const ValueId x = shop.input(shop.symbols.to_string(rows) + " " + shop.symbols.to_string(columns), {rows, columns});
    return rewrites(shop, {shop.chain(x, {name, name})});
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

TEST_CASE("sizes that a rule shares must be equal for sure", "[match]") {
  Workshop shop(R"(
rule square_weights(x[m, k], w[k, k])
  matmul(matmul(x, w), w) => matmul(x, matmul(w, w))
rule equal_weights(x[m, k], v[k, k], w[k, k])
  sub(matmul(x, v), matmul(x, w)) => matmul(x, sub(v, w))
)");
  const algebra::Poly n = shop.size("n"), k = shop.size("k");
  const ValueId w = shop.weight("w", {8, 8}), x = shop.input("x", {n, 8});
  CHECK(rewrites(shop, {shop.op("matmul", {shop.op("matmul", {x, w}), w})}) == 1);
  const auto difference = [&](const algebra::Poly& columns) {
    const std::string name = shop.symbols.to_string(columns);
    const ValueId from = shop.input("from " + name, {n, k}), other = shop.input("other " + name, {k, columns});
    const ValueId one = shop.input("one " + name, {k, columns});
    return rewrites(shop, {shop.op("sub", {shop.op("matmul", {from, one}), shop.op("matmul", {from, other})})});
  };
  CHECK(difference(k) == 1);
  CHECK(difference(n) == 0);
  CHECK(difference(5) == 0);
}

TEST_CASE("a variable of positives matches what is known to be positive, and nothing else", "[match]") {
  Workshop shop(R"(
rule scaled(x[m, n], c[n] of positives)
  relu(mul(x, c; right=[2, 0])) => mul(relu(x), c; right=[2, 0])
)");
  const algebra::Parameters by_column{{"right", std::vector<std::int64_t>{2, 0}}};
  const ValueId x = shop.input("x", {4, 3});
  const auto count = [&](ValueId factor) {
    return rewrites(shop, {shop.op("relu", {shop.op("mul", {x, factor}, by_column)})});
  };
  const auto constant = [&](const std::string& name, const std::vector<double>& values) {
    return shop.weight(name, {3}, values);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const ValueId positive = constant("p", {0.5, 2, 1e-20}), given = shop.input("c", {3});
  CHECK(count(positive) == 1);
  CHECK(count(constant("negative", {0.5, -2, 1})) == 0);
  CHECK(count(constant("zero", {0.5, 0, 1})) == 0);
  CHECK(count(constant("minus zero", {0.5, -0.0, 1})) == 0);
  CHECK(count(constant("infinite", {0.5, infinity, 1})) == 0);
  CHECK(count(constant("undefined", {0.5, std::nan(""), 1})) == 0);
  CHECK(count(given) == 0);
  CHECK(count(shop.op("relu", {given})) == 0);
  CHECK(count(shop.op("sigmoid", {given})) == 1);
  CHECK(count(shop.op("add", {shop.op("exp", {given}), positive})) == 1);
  CHECK(count(shop.op("sub", {shop.op("exp", {given}), positive})) == 0);
  CHECK(count(shop.op("mul", {shop.op("exp", {given}), given})) == 0);
}

TEST_CASE("of positives a rule speaks by variables alone, or matches no model", "[match]") {
  const Workshop shop(R"(
rule exponential(x[m, n], a[], b[])
  scale(scale(x, positive(a)), positive(b)) => scale(x, positive(add(a, b)))
rule within_and_without(x[m, n], a[])
  scale(scale(x, positive(a)), a) => scale(scale(x, a), positive(a))
rule one_way(x[m, n] of positives)
  larger(x, relu(x)) => x
)",
                      true);
  const auto patterns = patterns_of(shop.rules, shop.terms);
  REQUIRE(patterns.size() == 1);
  CHECK(patterns[0].rule == 2);
  CHECK_FALSE(patterns[0].reversed);
}

}  // namespace
}  // namespace rulemill::optimize
