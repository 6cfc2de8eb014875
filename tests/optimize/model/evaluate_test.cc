#include "optimize/model/evaluate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

GraphEvaluator::Source no_source() {
  return [](ValueId) -> GraphEvaluator::TensorPtr { throw std::logic_error("there are no inputs"); };
}

TEST_CASE("a graph is evaluated at the given sizes", "[evaluate]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {fixture.size("n"), 2});
  const ValueId w = fixture.weight("w", {2, 2}, {1, 2, 3, 4});
  const ValueId b = fixture.weight("b", {2}, {-20, 0.5f});
  const ValueId y = fixture.op("relu", {fixture.op("add_row", {fixture.op("matmul", {x, w}), b})});
  GraphEvaluator evaluator(fixture.bank, {{fixture.symbols.size("n"), 3}}, [](ValueId) {
    return tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  });
  const auto result = evaluator.value(y);
  CHECK(result->shape == std::vector<std::int64_t>{3, 2});
  // x·w is 7 10, 15 22, 23 34.
  CHECK(result->values == std::vector<double>{0, 10.5f, 0, 22.5f, 3, 34.5f});
  CHECK(evaluator.dims({fixture.size("n") * fixture.size("n"), 7}) == std::vector<std::int64_t>{9, 7});
}

TEST_CASE("a size without a value is an error that names it", "[evaluate]") {
  GraphFixture fixture;
  const GraphEvaluator evaluator(fixture.bank, {}, no_source());
  CHECK_THROWS_WITH(evaluator.dims({fixture.size("rows")}), Catch::Contains("no value for size rows"));
}

TEST_CASE("a shared value is computed once and passed for each root", "[evaluate]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {2}), z = fixture.opaque("secret", {x}, algebra::Shape{2});
  const ValueId both = fixture.op("add", {x, z}), twice = fixture.op("mul", {both, both});
  std::vector<ValueId> requested;
  GraphEvaluator evaluator(fixture.bank, {}, [&](ValueId id) {
    requested.push_back(id);
    return tensor({2}, id == x ? std::vector<double>{1, 2} : std::vector<double>{10, 20});
  });
  std::vector<std::pair<std::size_t, std::vector<double>>> visited;
  evaluator.run(std::vector{twice, x, both, twice}, [&](std::size_t root, const GraphEvaluator::TensorPtr& one) {
    visited.emplace_back(root, one->values);
  });
  CHECK(requested == std::vector{x, z});
  std::ranges::sort(visited);
  const std::vector<double> square{121, 484};
  CHECK(visited ==
        std::vector<std::pair<std::size_t, std::vector<double>>>{{0, square}, {1, {1, 2}}, {2, {11, 22}}, {3, square}});
}

TEST_CASE("an interrupt stops an evaluation between nodes", "[evaluate]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {1});
  GraphEvaluator evaluator(fixture.bank, {}, [](ValueId) {
    runtime::request_interrupt();
    return tensor({1}, {1});
  });
  CHECK_THROWS_AS(evaluator.value(fixture.op("relu", {x})), runtime::Interrupted);
  runtime::clear_interrupt();
}

TEST_CASE("a value is freed after its last use", "[evaluate]") {
  GraphFixture fixture;
  std::vector<ValueId> roots{fixture.input("x", {2})};
  for (int i = 0; i < 6; ++i) roots.push_back(fixture.op(i % 2 == 0 ? "relu" : "tanh", {roots.back()}));
  std::vector<std::weak_ptr<const algebra::Tensor>> seen;
  GraphEvaluator evaluator(fixture.bank, {}, [](ValueId) { return tensor({2}, {1, 2}); });
  evaluator.run(roots, [&](std::size_t, const GraphEvaluator::TensorPtr& one) {
    // Alive are only the visited value and its argument.
    for (std::size_t i = 0; i + 1 < seen.size(); ++i) CHECK(seen[i].expired());
    seen.emplace_back(one);
  });
  REQUIRE(seen.size() == roots.size());
  CHECK(std::ranges::all_of(seen, [](const auto& one) { return one.expired(); }));
}

TEST_CASE("constants are read on each use and not kept", "[evaluate]") {
  GraphFixture fixture;
  std::vector<std::weak_ptr<const algebra::Tensor>> read;
  std::size_t max_alive = 0;
  auto weight = [&](const std::string& name) {
    return fixture.bank.constant(name, name, {4, 4}, [&] {
      auto loaded = tensor({4, 4}, std::vector<double>(16, 0.25f));
      read.push_back(loaded);
      const auto alive = std::ranges::count_if(read, [](const auto& one) { return !one.expired(); });
      max_alive = std::max(max_alive, static_cast<std::size_t>(alive));
      return loaded;
    });
  };
  // Every other product has a sum of weights, as after a rewrite, which is created before all products.
  constexpr std::size_t products = 12;
  std::vector<ValueId> factors, roots;
  for (std::size_t i = 0; i < products; ++i) {
    const ValueId own = weight("w" + std::to_string(i));
    factors.push_back(i % 2 == 0 ? own : fixture.op("add", {own, weight("v" + std::to_string(i))}));
  }
  ValueId last = fixture.input("x", {4, 4});
  for (ValueId factor : factors) roots.push_back(last = fixture.op("matmul", {last, factor}));
  GraphEvaluator evaluator(fixture.bank, {}, [](ValueId) { return tensor({4, 4}, std::vector<double>(16, 1)); });
  evaluator.run(roots, [&](std::size_t root, const GraphEvaluator::TensorPtr& product) {
    CHECK(read.size() == root + 1 + (root + 1) / 2);
    CHECK(std::ranges::all_of(read, [](const auto& one) { return one.expired(); }));
    CHECK(product->values[0] == std::ldexp(1.0f, static_cast<int>((root + 1) / 2)));
  });
  CHECK(max_alive == 2);
  // A constant that is requested for is handed over, used by others or not.
  const std::vector<ValueId> constants{factors[0], factors[1], roots[0]};
  std::vector<double> seen;
  evaluator.run(constants, [&](std::size_t, const GraphEvaluator::TensorPtr& one) { seen.push_back(one->values[0]); });
  CHECK(seen == std::vector<double>{0.25f, 0.5f, 1});
}

TEST_CASE("only values computed from constants fold, equal ones into one constant", "[evaluate]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {2}), v = fixture.weight("v", {2}, {1, 2}),
                w = fixture.weight("w", {2}, {10, 20});
  const ValueId sum = fixture.op("add", {v, w}), same = fixture.op("sub", {fixture.op("add", {sum, w}), w});
  ConstantFolder folder(fixture.bank);
  CHECK(folder.fold(x) == x);
  CHECK(folder.fold(w) == w);
  CHECK(folder.fold(fixture.op("add", {x, sum})) == fixture.op("add", {x, sum}));
  const ValueId folded = folder.fold(sum);
  REQUIRE(fixture.bank.node_of(folded).kind == Node::Kind::Constant);
  CHECK(fixture.bank.tensor(fixture.bank.node_of(folded).source)->values == std::vector<double>{11, 22});
  CHECK(folder.fold(sum) == folded);
  CHECK(folder.fold(same) == folded);  // equal values share a constant
  CHECK(fixture.bank.value(folded).name.starts_with("rulemill_"));
}

TEST_CASE("folding finite weights into infinity is an error, and infinite weights stay infinite", "[evaluate]") {
  GraphFixture fixture;
  const ValueId large = fixture.weight("large", {1}, {1e25f}), one = fixture.weight("one", {1}, {1});
  const ValueId infinite = fixture.weight("infinite", {1}, {std::numeric_limits<float>::infinity()});
  ConstantFolder folder(fixture.bank);
  CHECK_THROWS_WITH(folder.fold(fixture.op("mul", {large, large})), Catch::Contains("finite weights would become"));
  const ValueId kept = folder.fold(fixture.op("mul", {infinite, one}));
  CHECK(std::isinf(fixture.bank.tensor(fixture.bank.node_of(kept).source)->values[0]));
}

}  // namespace
}  // namespace rulemill::optimize
