#include "optimize/cost/cost_model.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "optimize/cost/cost_table.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

/// Products at 1000 operations per second, functions at 100, 10 bytes per second, full occupancy at 8 elements.
DeviceModel slow_device() { return {"slow", "", 1000, 100, 10, 0.25, 8}; }

using Dims = std::vector<std::vector<std::int64_t>>;

Work work(GraphFixture& fixture, const std::string& name, const Dims& inputs,
          const algebra::Parameters& parameters = {}, const std::vector<std::int64_t>& sizes = {}) {
  std::vector<std::uint32_t> ranks;
  for (const auto& dims : inputs) ranks.push_back(static_cast<std::uint32_t>(dims.size()));
  return work_of(fixture.library, fixture.library.instance(fixture.instance(name, ranks, parameters)), inputs, sizes)
      .value();
}

TEST_CASE("the work of a node follows from its definition and its shapes", "[cost]") {
  GraphFixture fixture;
  const Work product = work(fixture, "matmul", {{16, 32}, {32, 8}});
  CHECK(product.product_flops == 16 * 8 * 32 * 2);
  CHECK(product.scalar_flops == 0);
  CHECK(product.bytes == 4 * (16 * 32 + 32 * 8 + 16 * 8));
  CHECK(product.output_elements == 16 * 8);
  const Work convolution = work(fixture, "conv2d", {{1, 4, 10, 10}, {6, 4, 3, 5}}, {{"stride", std::int64_t{2}}});
  CHECK(convolution.product_flops == 6 * 5 * 5 * (4 * 3 * 5) * 2);
  CHECK(convolution.output_elements == 6 * 5 * 5);
  // Each of two groups reads half of the channels.
  CHECK(work(fixture, "conv2d", {{1, 4, 10, 10}, {6, 2, 3, 3}}).product_flops == 6 * 10 * 10 * (2 * 3 * 3) * 2);
  CHECK(work(fixture, "add", {{5, 7}, {5, 7}}).scalar_flops == 5 * 7);
  CHECK(work(fixture, "add", {{5, 7}, {5, 7}}).product_flops == 0);
  CHECK(work(fixture, "exp", {{5}}).scalar_flops == 5 * 8);
  const Work split = work(fixture, "split", {{4, 6}}, {{"axis", std::int64_t{1}}}, {2});
  CHECK(split.output_elements == 4 * 6);
  CHECK(split.bytes == 2 * 4 * 4 * 6);
}

TEST_CASE("an ill-typed node has no work", "[cost]") {
  GraphFixture fixture;
  const algebra::OperatorInstance& matmul = fixture.library.instance(fixture.instance("matmul", {2, 2}));
  CHECK_FALSE(work_of(fixture.library, matmul, Dims{{2, 3}, {4, 5}}, {}).has_value());
}

TEST_CASE("the time is the maximum of arithmetic and memory time plus the overhead", "[cost]") {
  const DeviceModel device = slow_device();
  CHECK(roofline_seconds({.product_flops = 2000, .scalar_flops = 0, .bytes = 5, .output_elements = 8}, device) ==
        Approx(2.25));
  CHECK(roofline_seconds({.product_flops = 0, .scalar_flops = 300, .bytes = 5, .output_elements = 8}, device) ==
        Approx(3.25));
  CHECK(roofline_seconds({.product_flops = 1000, .scalar_flops = 100, .bytes = 50, .output_elements = 8}, device) ==
        Approx(5.25));
  // Two of eight elements occupy a quarter of the device; more than eight occupy all of it.
  CHECK(roofline_seconds({.product_flops = 2000, .scalar_flops = 0, .bytes = 5, .output_elements = 2}, device) ==
        Approx(8.25));
  CHECK(roofline_seconds({.product_flops = 2000, .scalar_flops = 0, .bytes = 5, .output_elements = 80}, device) ==
        Approx(2.25));
}

TEST_CASE("inputs and folded nodes are free, and a shared node counts once", "[cost]") {
  GraphFixture fixture;
  CostModel cost(fixture.bank, fixture.fusion, counting_device(), {});
  const ValueId x = fixture.input("x", {4, 4}), v = fixture.weight("v", {4, 4}), w = fixture.weight("w", {4, 4});
  const ValueId folded = fixture.op("add", {v, w}), product = fixture.op("matmul", {x, folded});
  CHECK(cost.graph_seconds(std::vector{x, folded}) == 0);
  CHECK(cost.graph_seconds(std::vector{product}) == 1);
  CHECK(cost.graph_seconds(
            std::vector{product, product, fixture.op("sub", {product, fixture.op("tanh", {product})})}) == 3);
}

TEST_CASE("an activation and a bias are fused into a convolution that has no other user", "[cost]") {
  GraphFixture fixture;
  CostModel cost(fixture.bank, fixture.fusion, counting_device(), {});
  const ValueId x = fixture.input("x", {1, 4, 9, 9}), k = fixture.weight("k", {4, 4, 3, 3}),
                b = fixture.weight("b", {4});
  const ValueId conv = fixture.op("conv2d", {x, k}), active = fixture.op("relu", {conv});
  const ValueId biased = fixture.op("add_channel", {conv, b}), both = fixture.op("relu", {biased});
  CHECK(cost.graph_seconds(std::vector{active}) == 1);
  CHECK(cost.graph_seconds(std::vector{biased}) == 1);
  CHECK(cost.graph_seconds(std::vector{both}) == 1);
  CHECK(cost.graph_seconds(std::vector{active, conv}) == 2);
  CHECK(cost.graph_seconds(std::vector{biased, conv}) == 2);
  CHECK(cost.graph_seconds(std::vector{active, biased}) == 3);
  CHECK(cost.graph_seconds(std::vector{both, biased}) == 2);
  CHECK(cost.graph_seconds(std::vector{fixture.op("tanh", {conv})}) == 2);  // no fused instance
}

TEST_CASE("nested concatenations along one axis count as one node", "[cost]") {
  GraphFixture fixture;
  CostModel cost(fixture.bank, fixture.fusion, counting_device(), {});
  const ValueId x = fixture.input("x", {4, 4}), y = fixture.input("y", {4, 4});
  const algebra::Parameters rows{{"axis", std::int64_t{0}}}, columns{{"axis", std::int64_t{1}}};
  const ValueId inner = fixture.op("concat", {x, y}, rows);
  CHECK(cost.graph_seconds(std::vector{fixture.op("concat", {inner, x}, rows)}) == 1);
  CHECK(cost.graph_seconds(std::vector{fixture.op("concat", {inner, x}, rows), inner}) == 2);
  // Along another axis it is a separate node.
  CHECK(cost.graph_seconds(std::vector{fixture.op("concat", {inner, fixture.input("z", {8, 2})}, columns)}) == 2);
}

TEST_CASE("dynamic dimensions have the given or the default size", "[cost]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {fixture.size("n"), 32}),
                y = fixture.op("matmul", {x, fixture.weight("w", {32, 8})});
  const auto operations = [&](const GraphEvaluator::Sizes& sizes) {
    return CostModel(fixture.bank, fixture.fusion, slow_device(), sizes).operations(std::vector{y});
  };
  CHECK(operations({{fixture.symbols.size("n"), 5}}) == 5 * 8 * 32 * 2);
  CHECK(operations({}) == CostModel::default_size * 8 * 32 * 2);
}

TEST_CASE("an opaque node costs the transfer of its inputs and outputs", "[cost]") {
  GraphFixture fixture;
  CostModel cost(fixture.bank, fixture.fusion, slow_device(), {});
  const ValueId x = fixture.input("x", {25}), y = fixture.opaque("secret", {x}, algebra::Shape{50});
  CHECK(cost.graph_seconds(std::vector{y}) == Approx((25 + 50) * 4 / 10.0 + 0.25));
  CHECK(cost.operations(std::vector{y}) == 0);
}

TEST_CASE("the costs of the nodes add up to the graph's", "[cost]") {
  GraphFixture fixture;
  CostModel cost(fixture.bank, fixture.fusion, slow_device(), {});
  const ValueId x = fixture.input("x", {1, 4, 9, 9}), k = fixture.weight("k", {4, 4, 3, 3});
  const ValueId conv = fixture.op("conv2d", {x, k}), active = fixture.op("relu", {conv});
  const std::vector<ValueId> outputs{fixture.op("add", {active, x})};
  const auto costs = cost.node_costs(outputs);
  double total = 0;
  for (const auto& [id, seconds] : costs) total += seconds;
  CHECK(total == Approx(cost.graph_seconds(outputs)));
  CHECK(costs.at(fixture.node(active)) == 0);
  CHECK(costs.at(fixture.node(x)) == 0);
  CHECK(costs.at(fixture.node(outputs[0])) == Approx(3 * 4 * 81 * 4 / 10.0 + 0.25));
}

/// Measured costs of two operators, and of a convolution with an activation.
class TestCosts final : public CostSource {
 public:
  explicit TestCosts(const algebra::Library& library) : library_(library) {}
  std::optional<double> seconds(const CostQuery& query) override {
    queries.push_back(query_text(query, library_));
    const std::string& name = library_.instance(query.instance).operator_name;
    if (name == "conv2d") return query.activation ? 7.5 : 7;
    return name == "tanh" ? std::optional(3.0) : std::nullopt;
  }
  std::string description() const override { return "a table"; }
  std::vector<std::string> queries;

 private:
  const algebra::Library& library_;
};

TEST_CASE("measured costs come first, fused activations add a difference, other nodes have analytic costs", "[cost]") {
  GraphFixture fixture;
  TestCosts measured(fixture.library);
  CostModel cost(fixture.bank, fixture.fusion, counting_device(), {}, &measured);
  const ValueId x = fixture.input("x", {1, 4, 9, 9}), k = fixture.weight("k", {4, 4, 3, 3}),
                conv = fixture.op("conv2d", {x, k});
  CHECK(cost.graph_seconds(std::vector{conv}) == 7);
  CHECK_THAT(measured.queries.at(0), Catch::EndsWith("(1x4x9x9, weights 4x4x3x3)"));
  CHECK(cost.graph_seconds(std::vector{fixture.op("relu", {conv})}) == 7.5);
  CHECK(cost.graph_seconds(std::vector{fixture.op("tanh", {conv})}) == 10);
  CHECK(cost.graph_seconds(std::vector{fixture.op("sigmoid", {conv})}) == 8);  // not measured: one node
}

}  // namespace
}  // namespace rulemill::optimize
