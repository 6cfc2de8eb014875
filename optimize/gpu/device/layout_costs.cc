#include "optimize/gpu/device/layout_costs.h"

#include <algorithm>

#include "algebra/sizes/checked.h"
#include "optimize/gpu/device/costs.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::optimize::gpu {

namespace {

class ModelledLayoutCosts : public LayoutCosts {
 public:
  explicit ModelledLayoutCosts(const DeviceModel& device) : flops_(device.peak_flops) {
    bandwidth = device.bandwidth;
    launch_seconds = device.overhead;
  }

  std::optional<double> seconds(const LayoutQuery& query) override {
    const auto count = [](const std::vector<std::int64_t>& dims) {
      return static_cast<double>(algebra::element_count(dims));
    };
    double window_elements = 1, weights = 0;
    if (!query.filters.empty()) {
      weights = count(query.filters);
      window_elements = weights / static_cast<double>(query.filters[0]);
    } else {
      for (const std::int64_t length : std::get<Pooling>(query.op).window)
        window_elements *= static_cast<double>(length);
    }
    const double bytes = (count(query.image) + weights + count(query.out)) * sizeof(float);
    return launch_seconds + std::max(2 * window_elements * count(query.out) / flops_, bytes / bandwidth);
  }

 private:
  double flops_;
};

class MeasuredLayoutCosts final : public ModelledLayoutCosts {
 public:
  MeasuredLayoutCosts(const DeviceModel& device, CostTable& table, PlanExecutor* executor)
      : ModelledLayoutCosts(device), table_(table), executor_(executor) {}

  std::optional<double> seconds(const LayoutQuery& query) override {
    const std::string text = describe(query);
    auto found = table_.seconds.find(text);
    if (found == table_.seconds.end()) {
      if (executor_ == nullptr) return ModelledLayoutCosts::seconds(query);
      found = table_.seconds.emplace(text, measured(query)).first;
    }
    if (found->second < 0) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr double unsupported = -1;

  double measured(const LayoutQuery& query) {
    runtime::throw_if_interrupted("measuring layouts");
    try {
      const Plan plan = make_call_plan(query);
      const auto loaded = executor_->load(plan, {}, [](ValueId) { return std::vector<float>(); });
      loaded->run(random_inputs(plan));
      return loaded->time({}).median;
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {
      const std::string failure = executor_->failure();
      if (!failure.empty()) throw runtime::Error("GPU", failure + ", while " + describe(query) + " was timed");
      return unsupported;
    }
  }

  CostTable& table_;
  PlanExecutor* executor_;
};

}  // namespace

std::unique_ptr<LayoutCosts> measured_layout_costs(const DeviceModel& device, CostTable& table,
                                                   PlanExecutor* executor) {
  return std::make_unique<MeasuredLayoutCosts>(device, table, executor);
}

Plan make_call_plan(const LayoutQuery& query) {
  Plan plan;
  std::uint32_t tensor_count = 0;
  const auto add = [&](const std::vector<std::int64_t>& dims, Layout layout) {
    plan.tensors.push_back({dims, false, 0, layout});
    return tensor_count++;
  };
  Plan::Step step{0, {}, query.op, Plan::no_kernel};
  if (auto* convolution = std::get_if<Convolution>(&step.op)) {
    convolution->image = add(query.image, query.layout);
    convolution->filters = add(query.filters, query.layout);
    step.reads = {convolution->image, convolution->filters};
    if (convolution->epilogue.bias) {
      convolution->epilogue.bias = add({query.out.at(1)}, Layout::RowMajor);
      step.reads.push_back(*convolution->epilogue.bias);
    }
  } else {
    std::get<Pooling>(step.op).image = add(query.image, query.layout);
    step.reads = {0};
  }
  for (std::uint32_t t = 0; t < tensor_count; ++t) plan.inputs.push_back({ValueId{}, t});
  step.out = add(query.out, query.layout);
  plan.outputs = {{ValueId{}, step.out}};
  plan.steps = {step};
  for (const auto& tensor : plan.tensors)
    plan.lifetimes.push_back({static_cast<std::size_t>(tensor.elements()) * sizeof(float), 0, 1});
  const Arena arena = pack_arena(plan.lifetimes);
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) plan.tensors[t].offset = arena.offsets[t];
  plan.arena_bytes = arena.bytes;
  return plan;
}

}  // namespace rulemill::optimize::gpu
