#include "optimize/gpu/plan/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "optimize/gpu/device/plan_executor.h"
#include "optimize/gpu/kernels/compiler.h"
#include "tests/gpu_stand_in/checked_run.h"
#include "tests/optimize/gpu/drawn_nodes.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize::gpu {
namespace {

using algebra::Parameters;

/// Counts steps by type: kernels, products, convolutions, pools, softmax.
std::array<std::size_t, 5> counts(const Plan& plan) {
  std::array<std::size_t, 5> result{};
  for (const auto& step : plan.steps) ++result.at(step.op.index());
  return result;
}

/// Runs the plan twice, because inputs must survive a run; returns the outputs. `values_of` returns the values of
/// inputs and constants.
std::vector<std::vector<float>> run_plan(const Plan& plan, std::span<const algebra::Function> functions,
                                         const std::function<std::vector<float>(ValueId)>& values_of) {
  const gpu_stand_in::CheckedRun checked;
  const auto executor = PlanExecutor::open();
  const auto loaded = executor->load(plan, functions, values_of);
  std::vector<std::vector<float>> inputs;
  for (const auto& port : plan.inputs) inputs.push_back(values_of(port.value));
  const auto first = loaded->run(inputs);
  const auto second = loaded->run(inputs);
  CHECK(std::ranges::equal(first, second, [](const auto& a, const auto& b) {
    return std::ranges::equal(a, b, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
  }));
  return second;
}

/// Runs the plan and the definitions on random inputs; returns the largest difference relative to the largest value.
double difference(GraphFixture& fixture, std::span<const ValueId> outputs, const Plan& plan, float lowest = -1) {
  std::unordered_map<ValueId, GraphEvaluator::TensorPtr> inputs;
  GraphEvaluator evaluator(fixture.bank, {}, [&](ValueId id) {
    auto& actual = inputs[id];
    if (!actual) {
      algebra::Tensor random_values{{}, {}};
      std::int64_t count = 1;
      for (const auto& dim : *fixture.bank.value(id).type) {
        random_values.shape.push_back(dim.constant().value());
        count *= random_values.shape.back();
      }
      std::mt19937 random(static_cast<unsigned>(index(id)));
      for (std::int64_t i = 0; i < count; ++i)
        random_values.values.push_back(lowest + (1 - lowest) * static_cast<float>(random() % 2001) / 2000);
      actual = std::make_shared<const algebra::Tensor>(std::move(random_values));
    }
    return actual;
  });
  std::vector<std::vector<double>> expected(outputs.size());
  evaluator.run(outputs, [&](std::size_t root, const GraphEvaluator::TensorPtr& one) { expected[root] = one->values; });
  const auto actual =
      run_plan(plan, fixture.library.functions(), [&](ValueId id) { return to_floats(*evaluator.value(id)); });
  REQUIRE(actual.size() == expected.size());
  double scale = 1, difference = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    REQUIRE(actual[i].size() == expected[i].size());
    for (std::size_t e = 0; e < actual[i].size(); ++e) {
      if (!std::isfinite(expected[i][e])) continue;
      REQUIRE(std::isfinite(actual[i][e]));
      scale = std::max(scale, std::fabs(expected[i][e]));
      difference = std::max(difference, std::fabs(static_cast<double>(actual[i][e]) - expected[i][e]));
    }
  }
  return difference / scale;
}

Plan checked_plan(GraphFixture& fixture, std::vector<ValueId> outputs, KernelFusion fusion = KernelFusion::All,
                  LayoutCosts* layouts = nullptr) {
  Plan plan = make_plan(fixture.bank, outputs, {}, fusion, OpaqueNodes::Rejected, layouts);
  INFO(summarize(plan));
  CHECK(difference(fixture, outputs, plan) < 1e-5);
  return plan;
}

Parameters conv_parameters(std::int64_t stride, const std::string& pad) { return {{"stride", stride}, {"pad", pad}}; }

TEST_CASE("a bias and an activation are fused into the preceding convolution", "[gpu]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {2, 4, 9, 8}), w = fixture.weight("w", {6, 2, 3, 3}),
                b = fixture.weight("b", {6});
  const ValueId convolved = fixture.op("conv2d", {x, w}, conv_parameters(1, "same"));
  const ValueId y = fixture.op("relu", {fixture.op("add_channel", {convolved, b})});
  const Plan plan = checked_plan(fixture, {y});
  CHECK(counts(plan) == std::array<std::size_t, 5>{0, 0, 1, 0, 0});
  const auto& actual = std::get<Convolution>(plan.steps.at(0).op);
  CHECK(actual.groups == 2);
  CHECK(actual.epilogue.relu);
  CHECK(actual.epilogue.bias.has_value());
  CHECK(plan.constant_bytes == 512 + 256);  // 432 and 24 bytes, in multiples of 256
}

TEST_CASE("a producer with another use is not fused", "[gpu]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {1, 3, 6, 6}), w = fixture.weight("w", {4, 3, 3, 3});
  const ValueId convolved = fixture.op("conv2d", {x, w}, conv_parameters(1, "same"));
  const ValueId y = fixture.op("relu", {convolved});
  CHECK(counts(checked_plan(fixture, {y, convolved})) == std::array<std::size_t, 5>{1, 0, 1, 0, 0});
  CHECK(counts(checked_plan(fixture, {y})) == std::array<std::size_t, 5>{0, 0, 1, 0, 0});
  CHECK(counts(checked_plan(fixture, {y}, KernelFusion::None)) == std::array<std::size_t, 5>{1, 0, 1, 0, 0});
}

TEST_CASE("asymmetric padding is done by a kernel before the convolution", "[gpu]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {1, 3, 8, 7}), w = fixture.weight("w", {2, 3, 3, 3});
  const Parameters upper{{"stride", std::vector<std::int64_t>{2, 2}}, {"pad", std::string("same_upper")}};
  const Plan plan = checked_plan(fixture, {fixture.op("conv", {x, w}, upper)});
  CHECK(counts(plan) == std::array<std::size_t, 5>{1, 0, 1, 0, 0});
  CHECK(plan.tensors[plan.steps[0].out].dims == std::vector<std::int64_t>{1, 3, 9, 9});
}

TEST_CASE("batched, transposed and biased products are one product each", "[gpu]") {
  GraphFixture fixture;
  const ValueId q = fixture.input("q", {2, 3, 5, 4}), k = fixture.input("k", {2, 3, 7, 4}),
                v = fixture.input("v", {2, 3, 7, 4});
  const ValueId transposed = fixture.op("transpose", {k}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  const ValueId scores = fixture.op("softmax", {fixture.op("matmul", {q, transposed})});
  const Plan attention = checked_plan(fixture, {fixture.op("matmul", {scores, v})});
  CHECK(counts(attention) == std::array<std::size_t, 5>{0, 2, 0, 0, 1});
  const ValueId x = fixture.input("x", {6, 8}), w = fixture.weight("w", {8, 10}), b = fixture.weight("b", {10});
  const ValueId row = fixture.op("relu", {fixture.op("add_row", {fixture.op("matmul", {x, w}), b})});
  const Plan dense = checked_plan(fixture, {row});
  CHECK(counts(dense) == std::array<std::size_t, 5>{0, 1, 0, 0, 0});
  CHECK(std::get<Product>(dense.steps[0].op).epilogue.bias.has_value());
}

TEST_CASE("a product with a transposed matrix, a factor and a bias is one product, also for one row", "[gpu]") {
  for (const std::int64_t rows : {1, 5}) {
    GraphFixture fixture;
    const ValueId x = fixture.input("x", {rows, 8}), w = fixture.input("w", {10, 8}), b = fixture.weight("b", {10}),
                  half = fixture.weight("half", {}, {0.5});
    const ValueId turned = fixture.op("transpose", {w}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    const ValueId product = fixture.op("matmul", {x, turned});
    const Plan plan = checked_plan(fixture, {fixture.op("add_row", {product, b})});
    CHECK(counts(plan) == std::array<std::size_t, 5>{0, 1, 0, 0, 0});
    const Plan scaled = checked_plan(fixture, {fixture.op("add_row", {fixture.op("scale", {product, half}), b})});
    CHECK(counts(scaled)[1] == 1);
  }
}

TEST_CASE("an element-wise chain is one kernel, and a reshape is no step", "[gpu]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {4, 6});
  const ValueId y = fixture.chain(x, {"sigmoid", "tanh", "relu"});
  const ValueId z = fixture.op("mul", {y, fixture.input("z", {4, 6})});
  const std::vector<ValueId> arguments{z};
  const std::vector<algebra::Poly> sizes{24};
  const auto flat = fixture.bank.apply(fixture.instance("reshape", {2, 1}), arguments, sizes);
  const Plan plan = checked_plan(fixture, {fixture.bank.node(flat.value()).outputs[0]});
  CHECK(plan.steps.size() == 1);
  CHECK(plan.kernels.size() == 1);
}

TEST_CASE("equal blocks share their kernels", "[gpu]") {
  GraphFixture fixture;
  ValueId x = fixture.input("x", {3, 16});
  for (int block = 0; block < 4; ++block) {
    const ValueId g = fixture.weight("g" + std::to_string(block), {16}),
                  b = fixture.weight("b" + std::to_string(block), {16});
    x = fixture.op("layer_norm", {x, g, b, fixture.weight("e", {}, {0.001F})});
  }
  const Plan plan = checked_plan(fixture, {x});
  CHECK(plan.steps.size() == 12);
  CHECK(plan.kernels.size() == 3);
}

TEST_CASE("an opaque node is an error that names it, or an input of the plan", "[gpu]") {
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {3}), secret = fixture.opaque("secret", {x}, algebra::Shape{3});
  fixture.bank.set_name(secret, "attention_3");
  const std::vector<ValueId> outputs{fixture.op("relu", {secret})};
  CHECK_THROWS_WITH(make_plan(fixture.bank, outputs, {}), Catch::Contains("attention_3"));
  // With AsInputs its output is an input, and what only it needs is not planned.
  const Plan plan = make_plan(fixture.bank, outputs, {}, KernelFusion::All, OpaqueNodes::AsInputs);
  REQUIRE(plan.inputs.size() == 1);
  CHECK((plan.inputs[0].value == secret && plan.inputs[0].from_opaque && plan.steps.size() == 1));
  CHECK_THAT(summarize(plan), Catch::Contains("; 1 inputs from opaque nodes"));
  const ValueId lost = fixture.opaque("lost", {x}, {});
  fixture.bank.set_name(lost, "lost_7");
  CHECK_THROWS_WITH(make_plan(fixture.bank, std::vector{lost}, {}, KernelFusion::All, OpaqueNodes::AsInputs),
                    Catch::Contains("lost_7"));
}

TEST_CASE("plans of single nodes of every operator compute the reference results", "[gpu]") {
  GraphFixture fixture;
  struct SingleNode {
    std::vector<ValueId> outputs;
    Plan plan;
  };
  std::map<std::string, std::vector<SingleNode>> single_nodes;
  std::vector<Kernel> kernels;
  for (const auto& [name, nodes] : draw_nodes(fixture.library, 3, 21)) {
    for (const DrawnNode& node : nodes) {
      std::vector<ValueId> inputs;
      for (const auto& dims : node.shapes)
        inputs.push_back(fixture.input(std::to_string(inputs.size()) + "_" + std::to_string(kernels.size()),
                                       {dims.begin(), dims.end()}));
      const std::vector<algebra::Poly> sizes(node.sizes.begin(), node.sizes.end());
      const auto actual = fixture.bank.apply(node.instance->id, inputs, sizes);
      if (!actual || fixture.bank.node(*actual).constant) continue;
      const std::vector<ValueId> outputs = fixture.bank.node(*actual).outputs;
      single_nodes[name].push_back({outputs, make_plan(fixture.bank, outputs, {})});
      const auto& own = single_nodes[name].back().plan.kernels;
      kernels.insert(kernels.end(), own.begin(), own.end());
    }
  }
  compile(translation_unit(kernels, fixture.library.functions()), "sm_90");  // once for all plans
  std::map<std::size_t, std::set<std::string>> by_op;
  for (const auto& [name, all] : single_nodes) {
    for (const SingleNode& single : all) {
      INFO(name);
      CHECK(difference(fixture, single.outputs, single.plan, 0.1F) < 2e-5);
      for (const auto& step : single.plan.steps) by_op[step.op.index()].insert(name);
    }
  }
  for (const char* name : {"matmul", "linear", "times_column"}) CHECK(by_op[1].contains(name));
  for (const char* name : {"conv2d", "conv", "conv2d_bias", "conv_bias"}) CHECK(by_op[2].contains(name));
  for (const char* name : {"max_pool", "max_window", "avg_pool", "global_avg_pool"}) CHECK(by_op[3].contains(name));
  for (const char* name : {"softmax", "softmax_axis"}) CHECK(by_op[4].contains(name));
}

/// Returns a random graph over images of one size, with one or two outputs.
std::vector<ValueId> random_graph(GraphFixture& fixture, std::mt19937& random) {
  std::vector<ValueId> values{fixture.input("x", {2, 4, 6, 6}), fixture.input("z", {2, 4, 6, 6})};
  const auto any = [&] { return values[random() % values.size()]; };
  const std::vector<std::int64_t> kernels{1, 3, 5};
  const int nodes = 3 + static_cast<int>(random() % 10);
  for (int i = 0; i < nodes; ++i) {
    const std::int64_t side = kernels[random() % 3], group = random() % 2 == 0 ? 4 : 1;
    const std::string name = "w" + std::to_string(random() % 3) + std::to_string(side) + std::to_string(group);
    switch (random() % 11) {
      case 0:
      case 1:
        values.push_back(
            fixture.op("conv2d", {any(), fixture.weight(name, {4, group, side, side})}, conv_parameters(1, "same")));
        break;
      case 2:
        values.push_back(fixture.op("add_channel", {any(), fixture.weight("b", {4})}));
        break;
      case 3:
        values.push_back(fixture.op("add", {any(), any()}));
        break;
      case 4:
        values.push_back(fixture.op("mul", {any(), any()}));
        break;
      case 5:
        values.push_back(fixture.op("max_pool", {any()}, {{"kernel", std::int64_t{3}}}));
        break;
      case 6:
        values.push_back(fixture.op("avg_pool", {any()}, {{"kernel", std::int64_t{3}}}));
        break;
      case 7:
        values.push_back(fixture.op("matmul", {any(), any()}));
        break;
      case 8:
        values.push_back(fixture.op("softmax", {any()}));
        break;
      case 9:
        values.push_back(fixture.op("transpose", {any()}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}}));
        break;
      default:
        values.push_back(fixture.op("relu", {any()}));
        break;
    }
  }
  std::vector<ValueId> outputs{values.back()};
  if (random() % 2 == 0) outputs.push_back(any());
  return outputs;
}

TEST_CASE("plans of random graphs compute the reference results in shared memory", "[gpu]") {
  std::mt19937 random(9);
  for (int trial = 0; trial < 25; ++trial) {
    GraphFixture fixture;
    const std::vector<ValueId> outputs = random_graph(fixture, random);
    for (const KernelFusion fusion : {KernelFusion::None, KernelFusion::All}) {
      const Plan plan = checked_plan(fixture, outputs, fusion);
      CHECK(plan.arena_bytes >= min_arena_bytes(plan.lifetimes));
    }
  }
}

/// Costs in which calls take given times in each layout, and a copy takes about `launch_seconds`.
struct FakeLayoutCosts final : LayoutCosts {
  FakeLayoutCosts(double copy, std::function<std::optional<double>(const LayoutQuery&)> call_seconds)
      : call(std::move(call_seconds)) {
    launch_seconds = copy;
  }
  std::optional<double> seconds(const LayoutQuery& query) override { return call(query); }
  std::function<std::optional<double>(const LayoutQuery&)> call;
};

std::size_t calls_with_channels_last(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.steps, [&](const Plan::Step& step) {
    return step.kernel == Plan::no_kernel && plan.tensors[step.out].layout == Layout::ChannelsLast;
  }));
}

TEST_CASE("a chain that gains keeps a layout, with copies only at its ends", "[gpu]") {
  // Two convolutions with a kernel between them.
  const auto plan_at = [](double gain) {
    GraphFixture fixture;
    ValueId y = fixture.input("x", {2, 4, 6, 6});
    y = fixture.op("conv2d", {y, fixture.weight("w", {4, 4, 3, 3})}, conv_parameters(1, "same"));
    y = fixture.op("sigmoid", {y});
    y = fixture.op("conv2d", {y, fixture.weight("v", {4, 4, 3, 3})}, conv_parameters(1, "same"));
    FakeLayoutCosts costs(
        1e-3, [&](const LayoutQuery& query) { return query.layout == Layout::ChannelsLast ? 5e-3 - gain : 5e-3; });
    return checked_plan(fixture, {y}, KernelFusion::All, &costs);
  };
  const Plan kept = plan_at(0.9e-3), changed = plan_at(1.2e-3);
  CHECK(calls_with_channels_last(kept) == 0);
  CHECK(kept.copies == 0);
  CHECK(calls_with_channels_last(changed) == 2);
  CHECK(changed.copies == 2);
  CHECK(changed.layout_seconds < changed.row_major_seconds);
  CHECK(changed.constants.size() == 2);  // filters are loaded in the layout in which they are read
  for (const auto& port : changed.constants) CHECK(changed.tensors[port.tensor].layout == Layout::ChannelsLast);
  CHECK_THAT(summarize(changed), Catch::Contains("; 2 channels-last calls, 2 layout copies"));
}

TEST_CASE("a call that the library rejects in one layout uses the other", "[gpu]") {
  for (const Layout refused : {Layout::RowMajor, Layout::ChannelsLast}) {
    GraphFixture fixture;
    const ValueId x = fixture.input("x", {1, 4, 6, 6});
    const ValueId y = fixture.op("conv2d", {x, fixture.weight("w", {4, 4, 3, 3})}, conv_parameters(1, "same"));
    FakeLayoutCosts costs(1e-3, [&](const LayoutQuery& query) {
      return query.layout == refused ? std::nullopt : std::optional(query.layout == Layout::RowMajor ? 9.0 : 1e-3);
    });
    CHECK(calls_with_channels_last(checked_plan(fixture, {y}, KernelFusion::All, &costs)) ==
          (refused == Layout::RowMajor ? 1 : 0));
  }
}

TEST_CASE("a model's transposes between layouts become views", "[gpu]") {
  // NHWC images outside, as in other frameworks, and a convolution that is equally fast in both layouts.
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {1, 6, 6, 8});
  ValueId y = fixture.op("transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}});
  y = fixture.op("conv2d", {y, fixture.weight("w", {8, 8, 3, 3})}, conv_parameters(1, "same"));
  y = fixture.op("transpose", {y}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
  FakeLayoutCosts costs(1e-3, [](const LayoutQuery&) { return 1e-3; });
  const Plan plan = checked_plan(fixture, {y}, KernelFusion::All, &costs);
  CHECK(plan.steps.size() == 1);
  CHECK(calls_with_channels_last(plan) == 1);
  CHECK(checked_plan(fixture, {y}).steps.size() == 3);
}

TEST_CASE("plans of random graphs compute the same for random layout costs", "[gpu]") {
  std::mt19937 random(17);
  std::size_t with_channels_last = 0, with_copies = 0;
  for (int trial = 0; trial < 12; ++trial) {
    GraphFixture fixture;
    const std::vector<ValueId> outputs = random_graph(fixture, random);
    FakeLayoutCosts costs(trial % 2 == 0 ? 1e-6 : 1e-4, [&](const LayoutQuery&) -> std::optional<double> {
      return random() % 16 == 0 ? std::nullopt : std::optional(1e-5 * static_cast<double>(random() % 30));
    });
    for (const KernelFusion fusion : {KernelFusion::None, KernelFusion::All}) {
      const Plan plan = checked_plan(fixture, outputs, fusion, &costs);
      with_channels_last += calls_with_channels_last(plan) > 0 ? 1 : 0;
      with_copies += plan.copies > 0 ? 1 : 0;
      CHECK(plan.layout_seconds <= plan.row_major_seconds);
    }
  }
  CHECK(with_channels_last > 6);
  CHECK(with_copies > 6);
}

}  // namespace
}  // namespace rulemill::optimize::gpu
