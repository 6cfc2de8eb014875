#include "optimize/gpu/costs.h"

#include "optimize/cost_table.h"
#include "optimize/gpu/layout_costs.h"
#include "runtime/error.h"
#include "tests/optimize/gpu/host_run.h"
#include "tests/optimize/graphs.h"

namespace rulemill::optimize::gpu {
namespace {

/// A device that takes 10 µs for a graph, 1 µs for each step and 1 ns for each element, and can break.
struct Pretended final : Executor {
  struct State {
    std::size_t loaded = 0;
    std::string device = "a device", versions = "CUDA 0.1", refusal, failure;
    std::optional<double> channels_last = std::nullopt;  // seconds of an element then; it is refused without
  };
  struct Timed final : LoadedPlan {
    explicit Timed(double taken) : seconds(taken) {}
    std::vector<std::vector<float>> run(const std::vector<std::vector<float>>&) override { return {}; }
    RunTime time(const Measuring&) override { return {seconds, seconds, seconds, 1}; }
    double seconds;
  };

  explicit Pretended(State& of) : state(of) {}
  std::string device() const override { return state.device; }
  std::string versions() const override { return state.versions; }
  std::string failure() const override { return state.failure; }
  std::unique_ptr<LoadedPlan> load(const Plan& plan, std::span<const algebra::Function>,
                                   const std::function<std::vector<float>(ValueId)>& values) override {
    ++state.loaded;
    if (!state.refusal.empty()) throw runtime::Error("GPU", state.refusal);
    for (const auto& port : plan.constants) values(port.value);
    double seconds = 10e-6 + 1e-6 * static_cast<double>(plan.steps.size());
    for (const auto& output : plan.outputs) {
      const auto& tensor = plan.tensors[output.tensor];
      const bool last = tensor.layout == Layout::ChannelsLast;
      if (last && !state.channels_last) throw runtime::Error("GPU", "cuDNN has no algorithm");
      seconds += (last ? *state.channels_last : 1e-9) * static_cast<double>(tensor.elements());
    }
    return std::make_unique<Timed>(seconds);
  }
  State& state;
};

CostQuery convolution(Workshop& shop) {
  return {shop.instance("conv2d", {4, 4}), {{1, 4, 8, 8}, {6, 4, 3, 3}}, {false, true}, {}, {}};
}

TEST_CASE("a node costs what it takes among others, an activation in it nothing more", "[gpu]") {
  Workshop shop;
  Pretended::State state;
  const auto costs = gpu_costs(std::make_unique<Pretended>(state), {}, shop.library);
  CHECK(state.loaded == 2);
  CostQuery query = convolution(shop);
  CHECK(costs->seconds(query).value() == Approx(1e-6 + 384e-9));
  CHECK(costs->seconds(query).value() == Approx(1e-6 + 384e-9));
  CHECK(state.loaded == 4);  // in both layouts; the second time from the table
  query.then = shop.instance("relu", {4});
  CHECK(costs->seconds(query).value() == Approx(1e-6 + 384e-9));
  CHECK(state.loaded == 6);
  CHECK_THAT(costs->description(),
             Catch::Contains("CUDA 0.1") && Catch::Contains("a table of 2 times, 2 of them measured now"));
}

TEST_CASE("times are kept for the device and the versions that they are of", "[gpu]") {
  Workshop shop;
  Pretended::State state;
  const runtime::ScratchFolder scratch;
  const auto measured = [&](const std::filesystem::path& path) {
    const auto costs = gpu_costs(std::make_unique<Pretended>(state), path, shop.library);
    state.loaded = 0;
    costs->seconds(convolution(shop));
    costs->save();
    return state.loaded;
  };
  const std::filesystem::path file = scratch / "costs.h5";
  CHECK(measured(file) == 2);
  CHECK(measured(file) == 0);
  state.device = "another device";
  CHECK_THROWS_WITH(measured(file),
                    Catch::Contains("costs.h5: was measured on another machine (a device; this is another"));
  state = {};
  state.versions = "CUDA 0.2";
  CHECK_THROWS_WITH(measured(file), Catch::Contains("other versions (CUDA 0.1; here are CUDA 0.2)"));
  // In a folder each has a file of its own.
  CHECK(measured(scratch.path()) == 2);
  state.versions = "CUDA 0.3";
  CHECK(measured(scratch.path()) == 2);
  CHECK(measured(scratch.path()) == 0);
}

TEST_CASE("what a library refuses is not known, and a device that is gone is the end", "[gpu]") {
  Workshop shop;
  Pretended::State state;
  const auto costs = gpu_costs(std::make_unique<Pretended>(state), {}, shop.library);
  state.refusal = "cuDNN has no algorithm";
  CHECK_FALSE(costs->seconds(convolution(shop)).has_value());
  const std::size_t loaded = state.loaded;
  CHECK_FALSE(costs->seconds(convolution(shop)).has_value());
  CHECK(state.loaded == loaded);
  state.failure = "an illegal memory access was encountered";
  CostQuery other = convolution(shop);
  other.inputs[0][0] = 2;
  CHECK_THROWS_WITH(costs->seconds(other), Catch::Contains("illegal memory access") && Catch::Contains("conv2d"));
}

TEST_CASE("a node costs what it does in the better layout", "[gpu]") {
  Workshop shop;
  Pretended::State state;
  state.channels_last = 0.25e-9;
  const auto costs = gpu_costs(std::make_unique<Pretended>(state), {}, shop.library);
  CHECK(costs->seconds(convolution(shop)).value() == Approx(1e-6 + 96e-9));
  state.channels_last = 4e-9;
  CostQuery other = convolution(shop);
  other.inputs[0][0] = 2;
  CHECK(costs->seconds(other).value() == Approx(1e-6 + 768e-9));
}

TEST_CASE("calls in either layout are measured once, and what is refused is known to be", "[gpu]") {
  Pretended::State state;
  Pretended device(state);
  CostTable table;
  const auto costs = measured_layouts(find_device("h100"), table, &device);
  Convolution form;
  form.stride = form.dilation = {1, 1};
  form.front = form.back = {1, 1};
  form.epilogue = {7, true};
  LayoutQuery query{form, {1, 4, 8, 8}, {6, 4, 3, 3}, {1, 6, 8, 8}, Layout::RowMajor};
  for (int twice = 0; twice < 2; ++twice) CHECK(costs->seconds(query).value() == Approx(10e-6 + 1e-6 + 384e-9));
  query.layout = Layout::ChannelsLast;
  for (int twice = 0; twice < 2; ++twice) CHECK_FALSE(costs->seconds(query).has_value());
  CHECK(state.loaded == 2);
  CHECK(table.seconds.at("convolution 1x4x8x8 * 6x4x3x3, stride 1x1, dilation 1x1, pad 1x1-1x1, bias, relu, "
                         "row-major") > 0);
  // Without a device the table says what it has, and figures the rest.
  const auto known = measured_layouts(find_device("h100"), table, nullptr);
  CHECK_FALSE(known->seconds(query).has_value());
  query.image[0] = query.out[0] = 2;
  CHECK(known->seconds(query).value() > 0);
}

TEST_CASE("kernels that do nothing are run in turn", "[gpu]") {
  const Plan plan = launches(5);
  const HostKernels host(plan.kernels, {});
  REQUIRE(host.compiled());
  CHECK(plan.steps.size() == 5);
  CHECK(run_on_host(plan, host, [](ValueId) { return std::vector<float>(); }).empty());
}

}  // namespace
}  // namespace rulemill::optimize::gpu
