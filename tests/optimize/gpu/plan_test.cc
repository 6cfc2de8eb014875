#include "optimize/gpu/plan.h"

#include "tests/optimize/gpu/draws.h"
#include "tests/optimize/gpu/host_run.h"
#include "tests/optimize/graphs.h"

namespace rulemill::optimize::gpu {
namespace {

using algebra::Parameters;

/// As many of each as forms are declared: kernels, products, convolutions, pools, softmax.
std::array<std::size_t, 5> counts(const Plan& plan) {
  std::array<std::size_t, 5> result{};
  for (const auto& step : plan.steps) ++result.at(step.form.index());
  return result;
}

/// Runs the plan and the definitions on random inputs; how far apart they are, relative to the largest value.
double difference(Workshop& shop, std::span<const ValueId> outputs, const Plan& plan, const HostKernels& host,
                  float lowest = -1) {
  std::unordered_map<ValueId, Evaluator::TensorPtr> inputs;
  Evaluator evaluator(shop.bank, {}, [&](ValueId id) {
    auto& made = inputs[id];
    if (!made) {
      algebra::Tensor random_values{{}, {}};
      std::int64_t count = 1;
      for (const auto& dim : *shop.bank.value(id).type) {
        random_values.shape.push_back(dim.constant().value());
        count *= random_values.shape.back();
      }
      std::mt19937 random(static_cast<unsigned>(index(id)));
      for (std::int64_t i = 0; i < count; ++i)
        random_values.values.push_back(lowest + (1 - lowest) * static_cast<float>(random() % 2001) / 2000);
      made = std::make_shared<const algebra::Tensor>(std::move(random_values));
    }
    return made;
  });
  std::vector<std::vector<double>> expected(outputs.size());
  evaluator.run(outputs, [&](std::size_t root, const Evaluator::TensorPtr& one) { expected[root] = one->values; });
  const auto made = run_on_host(plan, host, [&](ValueId id) { return floats(*evaluator.value(id)); });
  REQUIRE(made.size() == expected.size());
  double most = 1, apart = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    REQUIRE(made[i].size() == expected[i].size());
    for (std::size_t e = 0; e < made[i].size(); ++e) {
      if (!std::isfinite(expected[i][e])) continue;
      REQUIRE(std::isfinite(made[i][e]));
      most = std::max(most, std::fabs(expected[i][e]));
      apart = std::max(apart, std::fabs(static_cast<double>(made[i][e]) - expected[i][e]));
    }
  }
  return apart / most;
}

Plan checked_plan(Workshop& shop, std::vector<ValueId> outputs, Joining joining = Joining::All,
                  LayoutCosts* layouts = nullptr) {
  Plan plan = plan_of(shop.bank, outputs, {}, joining, Unknown::Refused, layouts);
  INFO(summary_of(plan));
  const HostKernels host(plan.kernels, shop.library.functions());
  REQUIRE(host.compiled());
  CHECK(difference(shop, outputs, plan, host) < 1e-5);
  return plan;
}

Parameters convolving(std::int64_t stride, const std::string& pad) { return {{"stride", stride}, {"pad", pad}}; }

TEST_CASE("a bias and an activation go into the convolution before them", "[gpu]") {
  Workshop shop;
  const ValueId x = shop.input("x", {2, 4, 9, 8}), w = shop.weight("w", {6, 2, 3, 3}), b = shop.weight("b", {6});
  const ValueId convolved = shop.op("conv2d", {x, w}, convolving(1, "same"));
  const ValueId y = shop.op("relu", {shop.op("add_channel", {convolved, b})});
  const Plan plan = checked_plan(shop, {y});
  CHECK(counts(plan) == std::array<std::size_t, 5>{0, 0, 1, 0, 0});
  const auto& made = std::get<Convolution>(plan.steps.at(0).form);
  CHECK(made.groups == 2);
  CHECK(made.epilogue.relu);
  CHECK(made.epilogue.bias.has_value());
  CHECK(plan.constant_bytes == 512 + 256);  // 432 and 24 bytes, in multiples of 256
}

TEST_CASE("who is needed by another, too, is not taken in", "[gpu]") {
  Workshop shop;
  const ValueId x = shop.input("x", {1, 3, 6, 6}), w = shop.weight("w", {4, 3, 3, 3});
  const ValueId convolved = shop.op("conv2d", {x, w}, convolving(1, "same"));
  const ValueId y = shop.op("relu", {convolved});
  CHECK(counts(checked_plan(shop, {y, convolved})) == std::array<std::size_t, 5>{1, 0, 1, 0, 0});
  CHECK(counts(checked_plan(shop, {y})) == std::array<std::size_t, 5>{0, 0, 1, 0, 0});
  CHECK(counts(checked_plan(shop, {y}, Joining::None)) == std::array<std::size_t, 5>{1, 0, 1, 0, 0});
}

TEST_CASE("zeros that libraries cannot say are written around the image first", "[gpu]") {
  Workshop shop;
  const ValueId x = shop.input("x", {1, 3, 8, 7}), w = shop.weight("w", {2, 3, 3, 3});
  const Parameters upper{{"stride", std::vector<std::int64_t>{2, 2}}, {"pad", std::string("same_upper")}};
  const Plan plan = checked_plan(shop, {shop.op("conv", {x, w}, upper)});
  CHECK(counts(plan) == std::array<std::size_t, 5>{1, 0, 1, 0, 0});
  CHECK(plan.tensors[plan.steps[0].out].dims == std::vector<std::int64_t>{1, 3, 9, 9});
}

TEST_CASE("products in batches, turned, and with their bias are one product each", "[gpu]") {
  Workshop shop;
  const ValueId q = shop.input("q", {2, 3, 5, 4}), k = shop.input("k", {2, 3, 7, 4}), v = shop.input("v", {2, 3, 7, 4});
  const ValueId turned = shop.op("transpose", {k}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  const ValueId scores = shop.op("softmax", {shop.op("matmul", {q, turned})});
  const Plan attention = checked_plan(shop, {shop.op("matmul", {scores, v})});
  CHECK(counts(attention) == std::array<std::size_t, 5>{0, 2, 0, 0, 1});
  const ValueId x = shop.input("x", {6, 8}), w = shop.weight("w", {8, 10}), b = shop.weight("b", {10});
  const ValueId row = shop.op("relu", {shop.op("add_row", {shop.op("matmul", {x, w}), b})});
  const Plan dense = checked_plan(shop, {row});
  CHECK(counts(dense) == std::array<std::size_t, 5>{0, 1, 0, 0, 0});
  CHECK(std::get<Product>(dense.steps[0].form).epilogue.bias.has_value());
}

TEST_CASE("a Gemm whose numbers are one is a product with its bias, for one row, too", "[gpu]") {
  for (const std::int64_t rows : {1, 5}) {
    Workshop shop;
    const ValueId x = shop.input("x", {rows, 8}), w = shop.weight("w", {10, 8}), b = shop.weight("b", {10}),
                  one = shop.weight("one", {}, {1.0});
    const Parameters turned{{"right", std::string("turned")}};
    const Plan plan = checked_plan(shop, {shop.op("scaled_product_and_row", {x, w, b, one, one}, turned)});
    CHECK(counts(plan) == std::array<std::size_t, 5>{0, 1, 0, 0, 0});
    const Plan scaled =
        checked_plan(shop, {shop.op("scaled_product_and_row", {x, w, b, shop.weight("half", {}, {0.5}), one}, turned)});
    CHECK(counts(scaled)[1] == 1);
  }
}

TEST_CASE("a chain of element-wise operators is one kernel, and a reshape is no step", "[gpu]") {
  Workshop shop;
  const ValueId x = shop.input("x", {4, 6});
  const ValueId y = shop.chain(x, {"sigmoid", "tanh", "relu"});
  const ValueId z = shop.op("mul", {y, shop.input("z", {4, 6})});
  const std::vector<ValueId> arguments{z};
  const std::vector<algebra::Poly> sizes{24};
  const auto flat = shop.bank.apply(shop.instance("reshape", {2, 1}), arguments, sizes);
  const Plan plan = checked_plan(shop, {shop.bank.node(flat.value()).outputs[0]});
  CHECK(plan.steps.size() == 1);
  CHECK(plan.kernels.size() == 1);
}

TEST_CASE("equal blocks share their kernels", "[gpu]") {
  Workshop shop;
  ValueId x = shop.input("x", {3, 16});
  for (int block = 0; block < 4; ++block) {
    const ValueId g = shop.weight("g" + std::to_string(block), {16}),
                  b = shop.weight("b" + std::to_string(block), {16});
    x = shop.op("layer_norm", {x, g, b, shop.weight("e", {}, {0.001F})});
  }
  const Plan plan = checked_plan(shop, {x});
  CHECK(plan.steps.size() == 12);
  CHECK(plan.kernels.size() == 3);
}

TEST_CASE("a node without definition is an error that names it", "[gpu]") {
  Workshop shop;
  const ValueId x = shop.input("x", {3}), secret = shop.opaque("secret", {x}, algebra::Shape{3});
  shop.bank.set_name(secret, "attention_3");
  const std::vector<ValueId> outputs{shop.op("relu", {secret})};
  CHECK_THROWS_WITH(plan_of(shop.bank, outputs, {}), Catch::Contains("attention_3"));
  // Or what it gives is given, and what it alone needs is not.
  const Plan plan = plan_of(shop.bank, outputs, {}, Joining::All, Unknown::Given);
  REQUIRE(plan.inputs.size() == 1);
  CHECK((plan.inputs[0].value == secret && plan.inputs[0].unknown && plan.steps.size() == 1));
  CHECK_THAT(summary_of(plan), Catch::Contains("; 1 values are given that no definition computes"));
  const ValueId lost = shop.opaque("lost", {x}, {});
  shop.bank.set_name(lost, "lost_7");
  CHECK_THROWS_WITH(plan_of(shop.bank, std::vector{lost}, {}, Joining::All, Unknown::Given), Catch::Contains("lost_7"));
}

TEST_CASE("plans of single nodes compute what the reference does, of every operator", "[gpu]") {
  Workshop shop;
  struct Single {
    std::vector<ValueId> outputs;
    Plan plan;
  };
  std::map<std::string, std::vector<Single>> singles;
  std::vector<Kernel> kernels;
  for (const auto& [name, nodes] : drawn_nodes(shop.library, 3, 21)) {
    for (const Drawn& node : nodes) {
      std::vector<ValueId> inputs;
      for (const auto& dims : node.shapes)
        inputs.push_back(shop.input(std::to_string(inputs.size()) + "_" + std::to_string(kernels.size()),
                                    {dims.begin(), dims.end()}));
      const std::vector<algebra::Poly> sizes(node.sizes.begin(), node.sizes.end());
      const auto made = shop.bank.apply(node.instance->id, inputs, sizes);
      if (!made || shop.bank.node(*made).constant) continue;
      const std::vector<ValueId> outputs = shop.bank.node(*made).outputs;
      singles[name].push_back({outputs, plan_of(shop.bank, outputs, {})});
      const auto& own = singles[name].back().plan.kernels;
      kernels.insert(kernels.end(), own.begin(), own.end());
    }
  }
  const HostKernels host(kernels, shop.library.functions());
  REQUIRE(host.compiled());
  std::map<std::size_t, std::set<std::string>> by_form;
  for (const auto& [name, all] : singles) {
    for (const Single& single : all) {
      INFO(name);
      CHECK(difference(shop, single.outputs, single.plan, host, 0.1F) < 2e-5);
      for (const auto& step : single.plan.steps) by_form[step.form.index()].insert(name);
    }
  }
  for (const char* name : {"matmul", "linear", "times_column"}) CHECK(by_form[1].contains(name));
  for (const char* name : {"conv2d", "conv", "conv2d_bias", "conv_bias"}) CHECK(by_form[2].contains(name));
  for (const char* name : {"max_pool", "max_window", "avg_pool", "global_avg_pool"}) CHECK(by_form[3].contains(name));
  for (const char* name : {"softmax", "softmax_axis"}) CHECK(by_form[4].contains(name));
}

/// A random graph over images of one size, sometimes of two outputs.
std::vector<ValueId> random_graph(Workshop& shop, std::mt19937& random) {
  std::vector<ValueId> values{shop.input("x", {2, 4, 6, 6}), shop.input("z", {2, 4, 6, 6})};
  const auto any = [&] { return values[random() % values.size()]; };
  const std::vector<std::int64_t> kernels{1, 3, 5};
  const int nodes = 3 + static_cast<int>(random() % 10);
  for (int i = 0; i < nodes; ++i) {
    const std::int64_t side = kernels[random() % 3], group = random() % 2 == 0 ? 4 : 1;
    const std::string name = "w" + std::to_string(random() % 3) + std::to_string(side) + std::to_string(group);
    switch (random() % 11) {
      case 0:
      case 1:
        values.push_back(shop.op("conv2d", {any(), shop.weight(name, {4, group, side, side})}, convolving(1, "same")));
        break;
      case 2:
        values.push_back(shop.op("add_channel", {any(), shop.weight("b", {4})}));
        break;
      case 3:
        values.push_back(shop.op("add", {any(), any()}));
        break;
      case 4:
        values.push_back(shop.op("mul", {any(), any()}));
        break;
      case 5:
        values.push_back(shop.op("max_pool", {any()}, {{"kernel", std::int64_t{3}}}));
        break;
      case 6:
        values.push_back(shop.op("avg_pool", {any()}, {{"kernel", std::int64_t{3}}}));
        break;
      case 7:
        values.push_back(shop.op("matmul", {any(), any()}));
        break;
      case 8:
        values.push_back(shop.op("softmax", {any()}));
        break;
      case 9:
        values.push_back(shop.op("transpose", {any()}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}}));
        break;
      default:
        values.push_back(shop.op("relu", {any()}));
        break;
    }
  }
  std::vector<ValueId> outputs{values.back()};
  if (random() % 2 == 0) outputs.push_back(any());
  return outputs;
}

TEST_CASE("plans of random graphs compute what the definitions say, in memory that is used again", "[gpu]") {
  std::mt19937 random(9);
  for (int trial = 0; trial < 25; ++trial) {
    Workshop shop;
    const std::vector<ValueId> outputs = random_graph(shop, random);
    for (const Joining joining : {Joining::None, Joining::All}) {
      const Plan plan = checked_plan(shop, outputs, joining);
      CHECK(plan.arena_bytes >= least_bytes(plan.lifetimes));
    }
  }
}

/// A device on which calls by themselves take so long in either layout; a copy takes `launch` and little more.
struct GivenCosts final : LayoutCosts {
  GivenCosts(double copy, std::function<std::optional<double>(const LayoutQuery&)> of_call) : call(std::move(of_call)) {
    launch = copy;
  }
  std::optional<double> seconds(const LayoutQuery& query) override { return call(query); }
  std::function<std::optional<double>(const LayoutQuery&)> call;
};

std::size_t calls_with_channels_last(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.steps, [&](const Plan::Step& step) {
    return step.kernel == Plan::no_kernel && plan.tensors[step.out].layout == Layout::ChannelsLast;
  }));
}

TEST_CASE("a layout is kept over a chain that gains by it, and a copy is paid at its ends alone", "[gpu]") {
  // Two convolutions, something between them that no library does.
  const auto plan_at = [](double gain) {
    Workshop shop;
    ValueId y = shop.input("x", {2, 4, 6, 6});
    y = shop.op("conv2d", {y, shop.weight("w", {4, 4, 3, 3})}, convolving(1, "same"));
    y = shop.op("sigmoid", {y});
    y = shop.op("conv2d", {y, shop.weight("v", {4, 4, 3, 3})}, convolving(1, "same"));
    GivenCosts costs(
        1e-3, [&](const LayoutQuery& query) { return query.layout == Layout::ChannelsLast ? 5e-3 - gain : 5e-3; });
    return checked_plan(shop, {y}, Joining::All, &costs);
  };
  const Plan kept = plan_at(0.9e-3), changed = plan_at(1.2e-3);
  CHECK(calls_with_channels_last(kept) == 0);
  CHECK(kept.copies == 0);
  CHECK(calls_with_channels_last(changed) == 2);
  CHECK(changed.copies == 2);
  CHECK(changed.layout_seconds < changed.row_major_seconds);
  CHECK(changed.constants.size() == 2);  // filters are loaded as they are read
  for (const auto& port : changed.constants) CHECK(changed.tensors[port.tensor].layout == Layout::ChannelsLast);
  CHECK_THAT(summary_of(changed), Catch::Contains("; 2 calls with channels last, 2 copies between layouts"));
}

TEST_CASE("what a library refuses with channels last is row-major, and the other way round", "[gpu]") {
  for (const Layout refused : {Layout::RowMajor, Layout::ChannelsLast}) {
    Workshop shop;
    const ValueId x = shop.input("x", {1, 4, 6, 6});
    const ValueId y = shop.op("conv2d", {x, shop.weight("w", {4, 4, 3, 3})}, convolving(1, "same"));
    GivenCosts costs(1e-3, [&](const LayoutQuery& query) {
      return query.layout == refused ? std::nullopt : std::optional(query.layout == Layout::RowMajor ? 9.0 : 1e-3);
    });
    CHECK(calls_with_channels_last(checked_plan(shop, {y}, Joining::All, &costs)) ==
          (refused == Layout::RowMajor ? 1 : 0));
  }
}

TEST_CASE("a model's own transposes between layouts are no step where the layout makes them a renaming", "[gpu]") {
  // Images with channels last outside, as other frameworks have them, and a convolution that takes both as well.
  Workshop shop;
  const ValueId x = shop.input("x", {1, 6, 6, 8});
  ValueId y = shop.op("transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}});
  y = shop.op("conv2d", {y, shop.weight("w", {8, 8, 3, 3})}, convolving(1, "same"));
  y = shop.op("transpose", {y}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
  GivenCosts costs(1e-3, [](const LayoutQuery&) { return 1e-3; });
  const Plan plan = checked_plan(shop, {y}, Joining::All, &costs);
  CHECK(plan.steps.size() == 1);
  CHECK(calls_with_channels_last(plan) == 1);
  CHECK(checked_plan(shop, {y}).steps.size() == 3);
}

TEST_CASE("plans of random graphs compute the same with layouts chosen by whatever costs", "[gpu]") {
  std::mt19937 random(17);
  std::size_t with_last = 0, with_copies = 0;
  for (int trial = 0; trial < 12; ++trial) {
    Workshop shop;
    const std::vector<ValueId> outputs = random_graph(shop, random);
    GivenCosts costs(trial % 2 == 0 ? 1e-6 : 1e-4, [&](const LayoutQuery&) -> std::optional<double> {
      return random() % 16 == 0 ? std::nullopt : std::optional(1e-5 * static_cast<double>(random() % 30));
    });
    for (const Joining joining : {Joining::None, Joining::All}) {
      const Plan plan = checked_plan(shop, outputs, joining, &costs);
      with_last += calls_with_channels_last(plan) > 0 ? 1 : 0;
      with_copies += plan.copies > 0 ? 1 : 0;
      CHECK(plan.layout_seconds <= plan.row_major_seconds);
    }
  }
  CHECK(with_last > 6);
  CHECK(with_copies > 6);
}

}  // namespace
}  // namespace rulemill::optimize::gpu
