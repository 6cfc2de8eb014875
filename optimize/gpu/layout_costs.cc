#include "optimize/gpu/layout_costs.h"

#include <algorithm>

#include "algebra/sizes/checked.h"
#include "optimize/gpu/costs.h"
#include "runtime/error.h"
#include "runtime/interrupt.h"

namespace rulemill::optimize::gpu {

namespace {

class Modelled : public LayoutCosts {
 public:
  explicit Modelled(const Device& device) : flops_(device.peak_flops) {
    bandwidth = device.bandwidth;
    launch = device.overhead;
  }

  std::optional<double> seconds(const LayoutQuery& query) override {
    const auto count = [](const std::vector<std::int64_t>& dims) {
      return static_cast<double>(algebra::element_count(dims));
    };
    double taps = 1, weights = 0;
    if (!query.filters.empty()) {
      weights = count(query.filters);
      taps = weights / static_cast<double>(query.filters[0]);
    } else {
      for (const std::int64_t length : std::get<Pooling>(query.form).window) taps *= static_cast<double>(length);
    }
    const double bytes = (count(query.image) + weights + count(query.out)) * sizeof(float);
    return launch + std::max(2 * taps * count(query.out) / flops_, bytes / bandwidth);
  }

 private:
  double flops_;
};

class Measured final : public Modelled {
 public:
  Measured(const Device& device, CostTable& table, Executor* executor)
      : Modelled(device), table_(table), executor_(executor) {}

  std::optional<double> seconds(const LayoutQuery& query) override {
    const std::string text = text_of(query);
    auto found = table_.seconds.find(text);
    if (found == table_.seconds.end()) {
      if (executor_ == nullptr) return Modelled::seconds(query);
      found = table_.seconds.emplace(text, measured(query)).first;
    }
    if (found->second < 0) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr double cannot = -1;

  double measured(const LayoutQuery& query) {
    runtime::throw_if_interrupted("measuring layouts");
    try {
      const Plan plan = plan_of_call(query);
      const auto loaded = executor_->load(plan, {}, [](ValueId) { return std::vector<float>(); });
      std::vector<std::vector<float>> inputs;
      for (const auto& port : plan.inputs)
        inputs.push_back(some_numbers(static_cast<std::size_t>(plan.tensors[port.tensor].elements()), port.tensor));
      loaded->run(inputs);
      return loaded->time({}).median;
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {
      const std::string failure = executor_->failure();
      if (!failure.empty()) throw runtime::Error("GPU", failure + ", while " + text_of(query) + " was timed");
      return cannot;
    }
  }

  CostTable& table_;
  Executor* executor_;
};

}  // namespace

std::unique_ptr<LayoutCosts> modelled_layouts(const Device& device) { return std::make_unique<Modelled>(device); }

std::unique_ptr<LayoutCosts> measured_layouts(const Device& device, CostTable& table, Executor* executor) {
  return std::make_unique<Measured>(device, table, executor);
}

Plan plan_of_call(const LayoutQuery& query) {
  Plan plan;
  std::uint32_t number = 0;
  const auto add = [&](const std::vector<std::int64_t>& dims, Layout layout) {
    plan.tensors.push_back({dims, false, 0, layout});
    return number++;
  };
  Plan::Step step{0, {}, query.form, Plan::no_kernel};
  if (auto* convolution = std::get_if<Convolution>(&step.form)) {
    convolution->image = add(query.image, query.layout);
    convolution->filters = add(query.filters, query.layout);
    step.reads = {convolution->image, convolution->filters};
    if (convolution->epilogue.bias) {
      convolution->epilogue.bias = add({query.out.at(1)}, Layout::RowMajor);
      step.reads.push_back(*convolution->epilogue.bias);
    }
  } else {
    std::get<Pooling>(step.form).image = add(query.image, query.layout);
    step.reads = {0};
  }
  for (std::uint32_t t = 0; t < number; ++t) plan.inputs.push_back({ValueId{}, t});
  step.out = add(query.out, query.layout);
  plan.outputs = {{ValueId{}, step.out}};
  plan.steps = {step};
  for (const auto& tensor : plan.tensors)
    plan.lifetimes.push_back({static_cast<std::size_t>(tensor.elements()) * sizeof(float), 0, 1});
  const Arena arena = arena_of(plan.lifetimes);
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) plan.tensors[t].offset = arena.offsets[t];
  plan.arena_bytes = arena.bytes;
  return plan;
}

}  // namespace rulemill::optimize::gpu
