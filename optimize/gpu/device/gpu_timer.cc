#include "optimize/gpu/device/gpu_timer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "optimize/gpu/device/costs.h"
#include "optimize/gpu/device/model_plan.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::optimize::gpu {
namespace {

constexpr TimingOptions turn_options{.runs = 10, .warm_up_runs = 1, .cold_caches = true};
constexpr std::size_t max_turns_of_a_round = 9;

class GpuTimer final : public ModelTimer {
 public:
  GpuTimer(std::unique_ptr<PlanExecutor> executor, const std::vector<std::filesystem::path>& models,
           const GpuTimerOptions& options)
      : executor_(std::move(executor)),
        models_(models),
        options_(options),
        inference_(options.type_helper),
        layout_times_{executor_->versions(), executor_->device(), 1, {}},
        layouts_(measured_layout_costs(options_.device, layout_times_, executor_.get())) {}

  std::string name() const override { return executor_->device() + ", cold caches"; }

  Opening open() override {
    Opening opening;
    opening.max_turns = max_turns_of_a_round;
    for (const auto& model : models_) {
      std::string failure;
      try {
        load(model, opening);
      } catch (const runtime::Interrupted&) {
        throw;
      } catch (const runtime::Error& error) {
        if (plans_.empty() || !executor_->failure().empty()) throw;
        failure = error.what();
        plans_.emplace_back();
      }
      opening.failures.push_back(std::move(failure));
    }
    const runtime::Stopwatch watch;
    plans_[0]->time(turn_options);
    opening.run_seconds = watch.seconds();
    return opening;
  }

  /// Fresh copies are the loaded plans: the addresses of tensors hardly count with cold caches, and equal calls of the
  /// models have the same algorithm.
  Round time_round(std::span<const std::size_t> order, std::size_t turns, Copies) override {
    const runtime::Stopwatch watch;
    std::vector<std::vector<double>> times(order.size());
    for (std::size_t turn = 0; turn < turns; ++turn) {
      for (std::size_t position = 0; position < order.size(); ++position)
        times[position].push_back(plans_.at(order[position])->time(turn_options).median);
    }
    Round round;
    for (auto& seconds : times) round.milliseconds.push_back({summarize_runs(std::move(seconds)).median * 1e3});
    round.failures.resize(order.size());
    round.seconds = watch.seconds();
    return round;
  }

 private:
  void load(const std::filesystem::path& model, Opening& opening) {
    runtime::throw_if_interrupted("timing models");
    const ModelPlan planned =
        plan_model(model, options_.operators, inference_, {options_.input_shapes, 1}, layouts_.get());
    auto loaded =
        executor_->load(planned.plan, planned.library->functions(), [&](ValueId id) { return planned.constant(id); });
    loaded->run(planned.random_inputs());
    if (plans_.empty()) {
      std::vector<std::string> inputs;
      for (const auto& port : planned.plan.inputs) {
        if (port.from_opaque) continue;
        inputs.push_back(fmt::format("{} {}", planned.bank->value(port.value).name,
                                     fmt::join(planned.plan.tensors[port.tensor].dims, "x")));
      }
      opening.inputs = {fmt::format("{}", fmt::join(inputs, ", "))};
    }
    plans_.push_back(std::move(loaded));
  }

  std::unique_ptr<PlanExecutor> executor_;
  std::vector<std::filesystem::path> models_;
  GpuTimerOptions options_;
  NodeInference inference_;
  CostTable layout_times_;
  std::unique_ptr<LayoutCosts> layouts_;
  std::vector<std::unique_ptr<LoadedPlan>> plans_;  // by model; null: it does not run
};

}  // namespace

std::unique_ptr<ModelTimer> gpu_timer(std::unique_ptr<PlanExecutor> executor,
                                      const std::vector<std::filesystem::path>& models,
                                      const GpuTimerOptions& options) {
  return std::make_unique<GpuTimer>(std::move(executor), models, options);
}

}  // namespace rulemill::optimize::gpu
