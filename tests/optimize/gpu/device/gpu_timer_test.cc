#include "optimize/gpu/device/gpu_timer.h"

#include <catch2/catch.hpp>

#include "tests/optimize/gpu/device/fake_executor.h"

namespace rulemill::optimize::gpu {
namespace {

const std::filesystem::path acnet = "data/models/acnet_block.onnx";

std::unique_ptr<ModelTimer> timer_of(FakeExecutor::State& state, const std::vector<std::filesystem::path>& models) {
  const GpuTimerOptions options{"data/operators", {}, {}, find_device("h100")};
  return gpu_timer(open_fake(state)(), models, options);
}

TEST_CASE("models run in turns on the GPU, and one that cannot be planned is named", "[gpu]") {
  FakeExecutor::State state;
  const auto timer = timer_of(state, {acnet, "data/models/missing.onnx", acnet});
  CHECK(timer->name() == "a device, cold caches");
  const ModelTimer::Opening opening = timer->open();
  CHECK_THAT(opening.inputs.at(0), Catch::Contains("image 1x32x28x28"));
  CHECK((opening.failures.size() == 3 && opening.failures[0].empty() && opening.failures[2].empty()));
  CHECK_THAT(opening.failures[1], Catch::Contains("missing.onnx"));
  const std::size_t order[] = {2, 0};
  const std::size_t loaded = state.loaded;
  const ModelTimer::Round round = timer->time_round(order, 2, ModelTimer::Copies::Fresh);
  CHECK(state.loaded == loaded);
  REQUIRE(round.milliseconds.size() == 2);
  CHECK((round.milliseconds[0] == round.milliseconds[1] && round.milliseconds[0].at(0) > 10e-3));
  CHECK(round.failures == std::vector<std::string>(2));
}

TEST_CASE("a model that the GPU cannot run, or a lost GPU, is an error", "[gpu]") {
  FakeExecutor::State state;
  CHECK_THROWS_WITH(timer_of(state, {"data/models/missing.onnx"})->open(), Catch::Contains("missing.onnx"));
  const auto timer = timer_of(state, {acnet, acnet});
  state.rejection = "an illegal memory access was encountered";
  CHECK_THROWS_WITH(timer->open(), Catch::Contains("illegal memory access"));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
