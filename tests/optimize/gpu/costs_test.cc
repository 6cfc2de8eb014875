#include "optimize/gpu/costs.h"

#include "optimize/cost_table.h"
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
    for (const auto& output : plan.outputs)
      seconds += 1e-9 * static_cast<double>(plan.tensors[output.tensor].elements());
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
  CHECK(state.loaded == 3);  // the second time from the table
  query.then = shop.instance("relu", {4});
  CHECK(costs->seconds(query).value() == Approx(1e-6 + 384e-9));
  CHECK(state.loaded == 4);
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
  CHECK(measured(file) == 1);
  CHECK(measured(file) == 0);
  state.device = "another device";
  CHECK_THROWS_WITH(measured(file),
                    Catch::Contains("costs.h5: was measured on another machine (a device; this is another"));
  state = {};
  state.versions = "CUDA 0.2";
  CHECK_THROWS_WITH(measured(file), Catch::Contains("other versions (CUDA 0.1; here are CUDA 0.2)"));
  // In a folder each has a file of its own.
  CHECK(measured(scratch.path()) == 1);
  state.versions = "CUDA 0.3";
  CHECK(measured(scratch.path()) == 1);
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

TEST_CASE("kernels that do nothing are run in turn", "[gpu]") {
  const Plan plan = launches(5);
  const HostKernels host(plan.kernels, {});
  REQUIRE(host.compiled());
  CHECK(plan.steps.size() == 5);
  CHECK(run_on_host(plan, host, [](ValueId) { return std::vector<float>(); }).empty());
}

}  // namespace
}  // namespace rulemill::optimize::gpu
