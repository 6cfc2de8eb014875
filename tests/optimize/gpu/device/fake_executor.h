// A simulated GPU, for tests of what is measured with one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "optimize/gpu/device/plan_executor.h"
#include "runtime/text/error.h"

namespace rulemill::optimize::gpu {

/// A simulated GPU: 10 µs per graph, 1 µs per step and 1 ns per element. It can fail.
struct FakeExecutor final : PlanExecutor {
  struct State {
    std::size_t opened = 0, loaded = 0;
    std::string device = "a device", versions = "CUDA 0.1", rejection, failure;
    std::optional<double> channels_last = std::nullopt;  // seconds per element in that layout; rejected if not set
  };
  struct Timed final : LoadedPlan {
    explicit Timed(double run_seconds) : seconds(run_seconds) {}
    std::vector<std::vector<float>> run(const std::vector<std::vector<float>>&) override { return {}; }
    RunTime time(const TimingOptions&) override { return {seconds, seconds, seconds, 1}; }
    double seconds;
  };

  explicit FakeExecutor(State& of) : state(of) {}
  std::string device() const override { return state.device; }
  std::string versions() const override { return state.versions; }
  std::string failure() const override { return state.failure; }
  std::unique_ptr<LoadedPlan> load(const Plan& plan, std::span<const algebra::Function>,
                                   const std::function<std::vector<float>(ValueId)>& values) override {
    ++state.loaded;
    if (!state.rejection.empty()) throw runtime::Error("GPU", state.rejection);
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

inline auto open_fake(FakeExecutor::State& state) {
  return [&state] {
    ++state.opened;
    return std::make_unique<FakeExecutor>(state);
  };
}

}  // namespace rulemill::optimize::gpu
