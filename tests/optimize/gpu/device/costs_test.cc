#include "optimize/gpu/device/costs.h"

#include "optimize/cost/cost_table.h"
#include "runtime/files/scratch_folder.h"
#include "runtime/text/error.h"
#include "tests/optimize/gpu/device/fake_executor.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize::gpu {
namespace {

CostQuery convolution(GraphFixture& fixture) {
  return {fixture.instance("conv2d", {4, 4}), {{1, 4, 8, 8}, {6, 4, 3, 3}}, {false, true}, {}, {}};
}

TEST_CASE("a node costs its time without the first launch, and a fused activation adds nothing", "[gpu]") {
  GraphFixture fixture;
  FakeExecutor::State state;
  const auto costs = gpu_costs(open_fake(state), {}, fixture.library);
  CHECK(state.loaded == 2);
  CostQuery query = convolution(fixture);
  CHECK(costs->seconds(query).value() == Approx(1e-6 + 384e-9));
  CHECK(costs->seconds(query).value() == Approx(1e-6 + 384e-9));
  CHECK(state.loaded == 4);  // in both layouts; the second time from the table
  query.activation = fixture.instance("relu", {4});
  CHECK(costs->seconds(query).value() == Approx(1e-6 + 384e-9));
  CHECK(state.loaded == 6);
  CHECK_THAT(costs->description(),
             Catch::Contains("CUDA 0.1") && Catch::Contains("a table of 2 times, 2 of them measured now"));
}

TEST_CASE("measured times are stored per GPU and per library versions", "[gpu]") {
  GraphFixture fixture;
  FakeExecutor::State state;
  const runtime::ScratchFolder scratch;
  const auto measured = [&](const std::filesystem::path& path) {
    const auto costs = gpu_costs(open_fake(state), path, fixture.library);
    state.loaded = 0;
    costs->seconds(convolution(fixture));
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
  // In a folder each has its own file.
  CHECK(measured(scratch.path()) == 2);
  state.versions = "CUDA 0.3";
  CHECK(measured(scratch.path()) == 2);
  CHECK(measured(scratch.path()) == 0);
}

TEST_CASE("an unsupported call has no cost, and a lost GPU is an error", "[gpu]") {
  GraphFixture fixture;
  FakeExecutor::State state;
  const auto costs = gpu_costs(open_fake(state), {}, fixture.library);
  state.rejection = "cuDNN has no algorithm";
  CHECK_FALSE(costs->seconds(convolution(fixture)).has_value());
  const std::size_t loaded = state.loaded;
  CHECK_FALSE(costs->seconds(convolution(fixture)).has_value());
  CHECK(state.loaded == loaded);
  state.failure = "an illegal memory access was encountered";
  CostQuery other = convolution(fixture);
  other.inputs[0][0] = 2;
  CHECK_THROWS_WITH(costs->seconds(other), Catch::Contains("illegal memory access") && Catch::Contains("conv2d"));
}

TEST_CASE("costs of which none could be measured are an error, also when read again", "[gpu]") {
  GraphFixture fixture;
  FakeExecutor::State state;
  const runtime::ScratchFolder scratch;
  for (const char* reason : {"cuDNN has no algorithm", "use --cost analytic"}) {
    const auto costs = gpu_costs(open_fake(state), scratch / "costs.h5", fixture.library);
    costs->require_times();  // none was needed yet
    state.rejection = "cuDNN has no algorithm";
    CHECK_FALSE(costs->seconds(convolution(fixture)).has_value());
    CHECK_THROWS_WITH(costs->require_times(),
                      Catch::Contains("no node of the model could be timed") && Catch::Contains(reason));
    costs->save();
    state.rejection.clear();
    // One that can be measured is enough; the others are counted.
    CostQuery other = convolution(fixture);
    other.inputs[0][0] = 2;
    CHECK(costs->seconds(other).has_value());
    costs->require_times();
    CHECK_THAT(costs->description(), Catch::Contains("; 1 nodes could not be timed"));
  }
}

TEST_CASE("a released GPU is opened again by the next measurement only", "[gpu]") {
  GraphFixture fixture;
  FakeExecutor::State state;
  const auto costs = gpu_costs(open_fake(state), {}, fixture.library);
  costs->seconds(convolution(fixture));
  costs->release_device();
  costs->seconds(convolution(fixture));
  CHECK(state.opened == 1);
  CostQuery other = convolution(fixture);
  other.inputs[0][0] = 2;
  CHECK(costs->seconds(other).has_value());
  CHECK(state.opened == 2);
}

TEST_CASE("a node costs its time in the better layout", "[gpu]") {
  GraphFixture fixture;
  FakeExecutor::State state;
  state.channels_last = 0.25e-9;
  const auto costs = gpu_costs(open_fake(state), {}, fixture.library);
  CHECK(costs->seconds(convolution(fixture)).value() == Approx(1e-6 + 96e-9));
  state.channels_last = 4e-9;
  CostQuery other = convolution(fixture);
  other.inputs[0][0] = 2;
  CHECK(costs->seconds(other).value() == Approx(1e-6 + 768e-9));
}

TEST_CASE("calls are measured once per layout, and rejected calls are remembered", "[gpu]") {
  FakeExecutor::State state;
  FakeExecutor device(state);
  CostTable table;
  const auto costs = measured_layout_costs(find_device("h100"), table, &device);
  Convolution op;
  op.stride = op.dilation = {1, 1};
  op.pad_begin = op.pad_end = {1, 1};
  op.epilogue = {7, true};
  LayoutQuery query{op, {1, 4, 8, 8}, {6, 4, 3, 3}, {1, 6, 8, 8}, Layout::RowMajor};
  for (int twice = 0; twice < 2; ++twice) CHECK(costs->seconds(query).value() == Approx(10e-6 + 1e-6 + 384e-9));
  query.layout = Layout::ChannelsLast;
  for (int twice = 0; twice < 2; ++twice) CHECK_FALSE(costs->seconds(query).has_value());
  CHECK(state.loaded == 2);
  CHECK(table.seconds.at("convolution 1x4x8x8 * 6x4x3x3, stride 1x1, dilation 1x1, pad 1x1-1x1, bias, relu, "
                         "row-major") > 0);
  // Without a GPU the table is used, and missing calls are modelled.
  const auto known = measured_layout_costs(find_device("h100"), table, nullptr);
  CHECK_FALSE(known->seconds(query).has_value());
  query.image[0] = query.out[0] = 2;
  CHECK(known->seconds(query).value() > 0);
}

}  // namespace
}  // namespace rulemill::optimize::gpu
