#include "optimize/evaluate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/error.h"
#include "runtime/interrupt.h"
#include "tests/optimize/graphs.h"

namespace rulemill::optimize {
namespace {

Evaluator::Source no_source() {
  return [](ValueId) -> Evaluator::TensorPtr { throw std::logic_error("nothing comes from outside here"); };
}

TEST_CASE("a graph is computed node by node, at the sizes that are given", "[evaluate]") {
  Workshop shop;
  const ValueId x = shop.input("x", {shop.size("n"), 2});
  const ValueId w = shop.weight("w", {2, 2}, {1, 2, 3, 4});
  const ValueId b = shop.weight("b", {2}, {-20, 0.5f});
  const ValueId y = shop.op("relu", {shop.op("add_row", {shop.op("matmul", {x, w}), b})});
  Evaluator evaluator(shop.bank, {{shop.symbols.size("n"), 3}}, [](ValueId) {
    return tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  });
  const auto result = evaluator.value(y);
  CHECK(result->shape == std::vector<std::int64_t>{3, 2});
  // x·w is 7 10, 15 22, 23 34.
  CHECK(result->values == std::vector<double>{0, 10.5f, 0, 22.5f, 3, 34.5f});
  CHECK(evaluator.dims({shop.size("n") * shop.size("n"), 7}) == std::vector<std::int64_t>{9, 7});
}

TEST_CASE("a size without a number is an error that names it", "[evaluate]") {
  Workshop shop;
  const Evaluator evaluator(shop.bank, {}, no_source());
  CHECK_THROWS_WITH(evaluator.dims({shop.size("rows")}), Catch::Contains("no value for size rows"));
}

TEST_CASE("what several use is computed once, and handed over wherever it is asked for", "[evaluate]") {
  Workshop shop;
  const ValueId x = shop.input("x", {2}), z = shop.opaque("secret", {x}, algebra::Shape{2});
  const ValueId both = shop.op("add", {x, z}), twice = shop.op("mul", {both, both});
  std::vector<ValueId> asked;
  Evaluator evaluator(shop.bank, {}, [&](ValueId id) {
    asked.push_back(id);
    return tensor({2}, id == x ? std::vector<double>{1, 2} : std::vector<double>{10, 20});
  });
  std::vector<std::pair<std::size_t, std::vector<double>>> visited;
  evaluator.run(std::vector{twice, x, both, twice},
                [&](std::size_t root, const Evaluator::TensorPtr& one) { visited.emplace_back(root, one->values); });
  CHECK(asked == std::vector{x, z});
  std::ranges::sort(visited);
  const std::vector<double> square{121, 484};
  CHECK(visited ==
        std::vector<std::pair<std::size_t, std::vector<double>>>{{0, square}, {1, {1, 2}}, {2, {11, 22}}, {3, square}});
}

TEST_CASE("an evaluation ends between nodes where a signal came", "[evaluate]") {
  Workshop shop;
  const ValueId x = shop.input("x", {1});
  Evaluator evaluator(shop.bank, {}, [](ValueId) {
    runtime::request_interrupt();
    return tensor({1}, {1});
  });
  CHECK_THROWS_AS(evaluator.value(shop.op("relu", {x})), runtime::Interrupted);
  runtime::clear_interrupt();
}

TEST_CASE("a value is dropped with its last use", "[evaluate]") {
  Workshop shop;
  std::vector<ValueId> roots{shop.input("x", {2})};
  for (int i = 0; i < 6; ++i) roots.push_back(shop.op(i % 2 == 0 ? "relu" : "tanh", {roots.back()}));
  std::vector<std::weak_ptr<const algebra::Tensor>> seen;
  Evaluator evaluator(shop.bank, {}, [](ValueId) { return tensor({2}, {1, 2}); });
  evaluator.run(roots, [&](std::size_t, const Evaluator::TensorPtr& one) {
    // What is visited, and what it was computed from.
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) CHECK(seen[i].expired());
    seen.emplace_back(one);
  });
  REQUIRE(seen.size() == roots.size());
  CHECK(std::ranges::all_of(seen, [](const auto& one) { return one.expired(); }));
}

TEST_CASE("constants are read when they are needed and not kept", "[evaluate]") {
  Workshop shop;
  std::vector<std::weak_ptr<const algebra::Tensor>> read;
  std::size_t most_alive = 0;
  auto weight = [&](const std::string& name) {
    return shop.bank.constant(name, name, {4, 4}, [&] {
      auto made = tensor({4, 4}, std::vector<double>(16, 0.25f));
      read.push_back(made);
      const auto alive = std::ranges::count_if(read, [](const auto& one) { return !one.expired(); });
      most_alive = std::max(most_alive, static_cast<std::size_t>(alive));
      return made;
    });
  };
  // Sums of weights come first, as after a rewrite; every other product takes its weight as it is.
  constexpr std::size_t products = 12;
  std::vector<ValueId> factors, roots;
  for (std::size_t i = 0; i < products; ++i) {
    const ValueId own = weight("w" + std::to_string(i));
    factors.push_back(i % 2 == 0 ? own : shop.op("add", {own, weight("v" + std::to_string(i))}));
  }
  ValueId last = shop.input("x", {4, 4});
  for (ValueId factor : factors) roots.push_back(last = shop.op("matmul", {last, factor}));
  Evaluator evaluator(shop.bank, {}, [](ValueId) { return tensor({4, 4}, std::vector<double>(16, 1)); });
  evaluator.run(roots, [&](std::size_t root, const Evaluator::TensorPtr& product) {
    CHECK(read.size() == root + 1 + (root + 1) / 2);
    CHECK(std::ranges::all_of(read, [](const auto& one) { return one.expired(); }));
    CHECK(product->values[0] == std::ldexp(1.0f, static_cast<int>((root + 1) / 2)));
  });
  CHECK(most_alive == 2);
  // A constant that is asked for is handed over, used by others or not.
  const std::vector<ValueId> constants{factors[0], factors[1], roots[0]};
  std::vector<double> seen;
  evaluator.run(constants, [&](std::size_t, const Evaluator::TensorPtr& one) { seen.push_back(one->values[0]); });
  CHECK(seen == std::vector<double>{0.25f, 0.5f, 1});
}

TEST_CASE("what is computed from constants alone folds into one constant, and nothing else does", "[evaluate]") {
  Workshop shop;
  const ValueId x = shop.input("x", {2}), v = shop.weight("v", {2}, {1, 2}), w = shop.weight("w", {2}, {10, 20});
  const ValueId sum = shop.op("add", {v, w}), same = shop.op("sub", {shop.op("add", {sum, w}), w});
  ConstantFolder folder(shop.bank);
  CHECK(folder.folded(x) == x);
  CHECK(folder.folded(w) == w);
  CHECK(folder.folded(shop.op("add", {x, sum})) == shop.op("add", {x, sum}));
  const ValueId folded = folder.folded(sum);
  REQUIRE(shop.bank.node_of(folded).kind == Node::Kind::Constant);
  CHECK(shop.bank.tensor(shop.bank.node_of(folded).source)->values == std::vector<double>{11, 22});
  CHECK(folder.folded(sum) == folded);
  CHECK(folder.folded(same) == folded);  // equal numbers, one constant
  CHECK(shop.bank.value(folded).name.starts_with("rulemill_"));
}

TEST_CASE("folding makes no infinity of finite weights, and leaves one that was there", "[evaluate]") {
  Workshop shop;
  const ValueId large = shop.weight("large", {1}, {1e25f}), one = shop.weight("one", {1}, {1});
  const ValueId infinite = shop.weight("infinite", {1}, {std::numeric_limits<float>::infinity()});
  ConstantFolder folder(shop.bank);
  CHECK_THROWS_WITH(folder.folded(shop.op("mul", {large, large})), Catch::Contains("finite weights would become"));
  const ValueId kept = folder.folded(shop.op("mul", {infinite, one}));
  CHECK(std::isinf(shop.bank.tensor(shop.bank.node_of(kept).source)->values[0]));
}

}  // namespace
}  // namespace rulemill::optimize
