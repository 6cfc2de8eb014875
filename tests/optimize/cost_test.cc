#include "optimize/cost.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "optimize/cost_table.h"
#include "tests/optimize/graphs.h"

namespace rulemill::optimize {
namespace {

/// Round numbers: products at 1000 operations a second, functions at 100, 10 bytes a second, 8 elements keep it busy.
Device slow_device() { return {"slow", "", 1000, 100, 10, 0.25, 8}; }

using Dims = std::vector<std::vector<std::int64_t>>;

Work work(Workshop& shop, const std::string& name, const Dims& inputs, const algebra::Parameters& parameters = {},
          const std::vector<std::int64_t>& sizes = {}) {
  std::vector<std::uint32_t> ranks;
  for (const auto& dims : inputs) ranks.push_back(static_cast<std::uint32_t>(dims.size()));
  return work_of(shop.library, shop.library.instance(shop.instance(name, ranks, parameters)), inputs, sizes).value();
}

TEST_CASE("the work of a node follows from its definition and its shapes", "[cost]") {
  Workshop shop;
  const Work product = work(shop, "matmul", {{16, 32}, {32, 8}});
  CHECK(product.product_flops == 16 * 8 * 32 * 2);
  CHECK(product.scalar_flops == 0);
  CHECK(product.bytes == 4 * (16 * 32 + 32 * 8 + 16 * 8));
  CHECK(product.output_elements == 16 * 8);
  const Work convolution = work(shop, "conv2d", {{1, 4, 10, 10}, {6, 4, 3, 5}}, {{"stride", std::int64_t{2}}});
  CHECK(convolution.product_flops == 6 * 5 * 5 * (4 * 3 * 5) * 2);
  CHECK(convolution.output_elements == 6 * 5 * 5);
  // Two groups read half of the channels.
  CHECK(work(shop, "conv2d", {{1, 4, 10, 10}, {6, 2, 3, 3}}).product_flops == 6 * 10 * 10 * (2 * 3 * 3) * 2);
  CHECK(work(shop, "add", {{5, 7}, {5, 7}}).scalar_flops == 5 * 7);
  CHECK(work(shop, "add", {{5, 7}, {5, 7}}).product_flops == 0);
  CHECK(work(shop, "exp", {{5}}).scalar_flops == 5 * 8);
  const Work split = work(shop, "split", {{4, 6}}, {{"axis", std::int64_t{1}}}, {2});
  CHECK(split.output_elements == 4 * 6);
  CHECK(split.bytes == 2 * 4 * 4 * 6);
}

TEST_CASE("a node that does not type has no work", "[cost]") {
  Workshop shop;
  const algebra::Instance& matmul = shop.library.instance(shop.instance("matmul", {2, 2}));
  CHECK_FALSE(work_of(shop.library, matmul, Dims{{2, 3}, {4, 5}}, {}).has_value());
}

TEST_CASE("time is that of arithmetic or of memory, whichever is longer, and the overhead", "[cost]") {
  const Device device = slow_device();
  CHECK(seconds_for({.product_flops = 2000, .scalar_flops = 0, .bytes = 5, .output_elements = 8}, device) ==
        Approx(2.25));
  CHECK(seconds_for({.product_flops = 0, .scalar_flops = 300, .bytes = 5, .output_elements = 8}, device) ==
        Approx(3.25));
  CHECK(seconds_for({.product_flops = 1000, .scalar_flops = 100, .bytes = 50, .output_elements = 8}, device) ==
        Approx(5.25));
  // Two of eight elements use a quarter of the device; more than eight do not use more than all.
  CHECK(seconds_for({.product_flops = 2000, .scalar_flops = 0, .bytes = 5, .output_elements = 2}, device) ==
        Approx(8.25));
  CHECK(seconds_for({.product_flops = 2000, .scalar_flops = 0, .bytes = 5, .output_elements = 80}, device) ==
        Approx(2.25));
}

TEST_CASE("inputs and what folds cost nothing, and a shared node costs once", "[cost]") {
  Workshop shop;
  CostModel cost(shop.bank, shop.fusion, counting_device(), {});
  const ValueId x = shop.input("x", {4, 4}), v = shop.weight("v", {4, 4}), w = shop.weight("w", {4, 4});
  const ValueId folded = shop.op("add", {v, w}), product = shop.op("matmul", {x, folded});
  CHECK(cost.graph_seconds(std::vector{x, folded}) == 0);
  CHECK(cost.graph_seconds(std::vector{product}) == 1);
  CHECK(cost.graph_seconds(std::vector{product, product, shop.op("sub", {product, shop.op("tanh", {product})})}) == 3);
}

TEST_CASE("an activation and a bias run inside the convolution before them if nothing else uses it", "[cost]") {
  Workshop shop;
  CostModel cost(shop.bank, shop.fusion, counting_device(), {});
  const ValueId x = shop.input("x", {1, 4, 9, 9}), k = shop.weight("k", {4, 4, 3, 3}), b = shop.weight("b", {4});
  const ValueId conv = shop.op("conv2d", {x, k}), active = shop.op("relu", {conv});
  const ValueId biased = shop.op("add_channel", {conv, b}), both = shop.op("relu", {biased});
  CHECK(cost.graph_seconds(std::vector{active}) == 1);
  CHECK(cost.graph_seconds(std::vector{biased}) == 1);
  CHECK(cost.graph_seconds(std::vector{both}) == 1);
  CHECK(cost.graph_seconds(std::vector{active, conv}) == 2);
  CHECK(cost.graph_seconds(std::vector{biased, conv}) == 2);
  CHECK(cost.graph_seconds(std::vector{active, biased}) == 3);
  CHECK(cost.graph_seconds(std::vector{both, biased}) == 2);
  CHECK(cost.graph_seconds(std::vector{shop.op("tanh", {conv})}) == 2);  // there is no such instance
}

TEST_CASE("a concatenation of a concatenation is one node, as ONNX says it", "[cost]") {
  Workshop shop;
  CostModel cost(shop.bank, shop.fusion, counting_device(), {});
  const ValueId x = shop.input("x", {4, 4}), y = shop.input("y", {4, 4});
  const algebra::Parameters rows{{"axis", std::int64_t{0}}}, columns{{"axis", std::int64_t{1}}};
  const ValueId inner = shop.op("concat", {x, y}, rows);
  CHECK(cost.graph_seconds(std::vector{shop.op("concat", {inner, x}, rows)}) == 1);
  CHECK(cost.graph_seconds(std::vector{shop.op("concat", {inner, x}, rows), inner}) == 2);
  // Along another axis it is another node.
  CHECK(cost.graph_seconds(std::vector{shop.op("concat", {inner, shop.input("z", {8, 2})}, columns)}) == 2);
}

TEST_CASE("symbolic sizes count as what the user said, or as the usual one", "[cost]") {
  Workshop shop;
  const ValueId x = shop.input("x", {shop.size("n"), 32}), y = shop.op("matmul", {x, shop.weight("w", {32, 8})});
  const auto operations = [&](const Evaluator::Sizes& sizes) {
    return CostModel(shop.bank, shop.fusion, slow_device(), sizes).operations(std::vector{y});
  };
  CHECK(operations({{shop.symbols.size("n"), 5}}) == 5 * 8 * 32 * 2);
  CHECK(operations({}) == CostModel::default_size * 8 * 32 * 2);
}

TEST_CASE("of a node that nothing is known about what goes in and out counts", "[cost]") {
  Workshop shop;
  CostModel cost(shop.bank, shop.fusion, slow_device(), {});
  const ValueId x = shop.input("x", {25}), y = shop.opaque("secret", {x}, algebra::Shape{50});
  CHECK(cost.graph_seconds(std::vector{y}) == Approx((25 + 50) * 4 / 10.0 + 0.25));
  CHECK(cost.operations(std::vector{y}) == 0);
}

TEST_CASE("the costs of the nodes add up to the graph's", "[cost]") {
  Workshop shop;
  CostModel cost(shop.bank, shop.fusion, slow_device(), {});
  const ValueId x = shop.input("x", {1, 4, 9, 9}), k = shop.weight("k", {4, 4, 3, 3});
  const ValueId conv = shop.op("conv2d", {x, k}), active = shop.op("relu", {conv});
  const std::vector<ValueId> outputs{shop.op("add", {active, x})};
  const auto costs = cost.node_costs(outputs);
  double total = 0;
  for (const auto& [id, seconds] : costs) total += seconds;
  CHECK(total == Approx(cost.graph_seconds(outputs)));
  CHECK(costs.at(shop.node(active)) == 0);
  CHECK(costs.at(shop.node(x)) == 0);
  CHECK(costs.at(shop.node(outputs[0])) == Approx(3 * 4 * 81 * 4 / 10.0 + 0.25));
}

/// Knows two operators, and what a convolution with its activation takes.
class Measured final : public CostSource {
 public:
  explicit Measured(const algebra::Library& library) : library_(library) {}
  std::optional<double> seconds(const CostQuery& query) override {
    asked.push_back(text_of(query, library_));
    const std::string& name = library_.instance(query.instance).operator_name;
    if (name == "conv2d") return query.then ? 7.5 : 7;
    return name == "tanh" ? std::optional(3.0) : std::nullopt;
  }
  std::string description() const override { return "a table"; }
  std::vector<std::string> asked;

 private:
  const algebra::Library& library_;
};

TEST_CASE("what was measured counts first, an activation inside by what it adds, the rest by the model", "[cost]") {
  Workshop shop;
  Measured measured(shop.library);
  CostModel cost(shop.bank, shop.fusion, counting_device(), {}, &measured);
  const ValueId x = shop.input("x", {1, 4, 9, 9}), k = shop.weight("k", {4, 4, 3, 3}), conv = shop.op("conv2d", {x, k});
  CHECK(cost.graph_seconds(std::vector{conv}) == 7);
  CHECK_THAT(measured.asked.at(0), Catch::EndsWith("(1x4x9x9, weights 4x4x3x3)"));
  CHECK(cost.graph_seconds(std::vector{shop.op("relu", {conv})}) == 7.5);
  CHECK(cost.graph_seconds(std::vector{shop.op("tanh", {conv})}) == 10);
  CHECK(cost.graph_seconds(std::vector{shop.op("sigmoid", {conv})}) == 8);  // not in the table: one node
}

}  // namespace
}  // namespace rulemill::optimize
