#include "optimize/gpu/device/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "algebra/sizes/checked.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize::gpu {
namespace {

constexpr std::int64_t max_elements = 1 << 27;  // of an input; larger ones use the analytic model
constexpr std::size_t launch_count = 101;

using OpenExecutor = std::function<std::unique_ptr<PlanExecutor>()>;

class GpuCosts final : public MeasuredCosts {
 public:
  GpuCosts(OpenExecutor open, std::unique_ptr<PlanExecutor> executor, std::filesystem::path path, CostTable table,
           algebra::Library& library)
      : MeasuredCosts(std::move(path), std::move(table), library),
        open_(std::move(open)),
        executor_(std::move(executor)),
        all_operators_(library) {
    first_launch_seconds_ = time_of(make_launch_plan(1), {});
    launch_seconds_ = (time_of(make_launch_plan(launch_count), {}) - first_launch_seconds_) / (launch_count - 1);
  }

  void require_times() const override {
    if (has_times_ || unmeasurable_.empty()) return;
    throw runtime::InputError("GPU", "no node of the model could be timed" +
                                         (first_failure_.empty() ? "" : " (" + first_failure_ + ")") +
                                         "; use --cost analytic");
  }
  void release_device() override { executor_.reset(); }

 private:
  double measure_now(const CostQuery& query) override {
    if (!executor_) executor_ = open_();
    algebra::Symbols symbols;
    GraphBank bank(all_operators_, symbols);
    try {
      const auto output = graph_of(query, bank);
      if (!output) return unmeasurable;
      const Plan plan = make_plan(bank, *output, {});
      double seconds = time_of(plan, bank);
      if (const auto other = channels_last_plan(plan)) seconds = std::min(seconds, try_time(*other));
      // A single launch costs more than one of many, as in a model.
      return std::max(0.0, seconds - first_launch_seconds_) + launch_seconds_;
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error& error) {
      if (first_failure_.empty()) first_failure_ = error.what();
      // An unsupported node, or out of memory: the cost is unknown. A lost GPU is an error.
      const std::string failure = executor_->failure();
      if (!failure.empty())
        throw runtime::Error("GPU", failure + ", while " + query_text(query, library_) + " was timed");
      return unmeasurable;
    }
  }

  std::optional<std::vector<ValueId>> graph_of(const CostQuery& query, GraphBank& bank) const {
    std::vector<ValueId> arguments;
    for (std::size_t i = 0; i < query.inputs.size(); ++i) {
      const auto& dims = query.inputs[i];
      const std::int64_t elements = algebra::element_count(dims);
      if (elements > max_elements) return std::nullopt;
      const std::string name = "x" + std::to_string(i);
      // A constant scalar determines which library call applies, a constant array does not.
      if (!query.constant.at(i) || !dims.empty())
        arguments.push_back(bank.input(name, algebra::Shape(dims.begin(), dims.end())));
      else
        arguments.push_back(bank.constant(name, std::make_shared<const algebra::Tensor>(algebra::Tensor{dims, {1.0}})));
    }
    const std::vector<algebra::Poly> sizes(query.sizes.begin(), query.sizes.end());
    auto node = bank.apply(query.instance, arguments, sizes);
    if (node && query.activation) node = bank.apply(*query.activation, std::vector{bank.node(*node).outputs.at(0)}, {});
    if (!node) return std::nullopt;
    return bank.node(*node).outputs;
  }

  /// Returns the plan in the other layout, whose time counts if it is better: layouts are assigned for whole graphs,
  /// with the costs of copies.
  static std::optional<Plan> channels_last_plan(const Plan& plan) {
    if (plan.steps.size() != 1) return std::nullopt;
    const LibraryOp& op = plan.steps[0].op;
    if (!std::holds_alternative<Convolution>(op) && !std::holds_alternative<Pooling>(op)) return std::nullopt;
    Plan other = plan;
    for (auto& tensor : other.tensors) {
      if (!layouts_coincide(tensor.dims)) tensor.layout = Layout::ChannelsLast;
    }
    return other;
  }

  double try_time(const Plan& plan) {
    try {
      return time_of(plan, std::nullopt);
    } catch (const runtime::Interrupted&) {
      throw;
    } catch (const runtime::Error&) {
      if (!executor_->failure().empty()) throw;
      return std::numeric_limits<double>::infinity();
    }
  }

  double time_of(const Plan& plan, std::optional<std::reference_wrapper<GraphBank>> bank) {
    const auto constant = [&](ValueId id) {
      RM_CHECK(bank.has_value(), "a plan with constants has a graph");
      return to_floats(*bank->get().tensor(bank->get().node_of(id).source));
    };
    const auto loaded = executor_->load(plan, library_.functions(), constant);
    loaded->run(random_inputs(plan));
    return loaded->time({}).median;
  }

  OpenExecutor open_;
  std::unique_ptr<PlanExecutor> executor_;  // null: released
  std::string first_failure_;
  algebra::Library& all_operators_;
  double first_launch_seconds_ = 0, launch_seconds_ = 0;
};

}  // namespace

Plan make_launch_plan(std::size_t steps) {
  algebra::Symbols symbols;
  const algebra::Atom index = symbols.index("i0");
  auto read = std::make_shared<ElementExpr>();
  read->kind = ElementExpr::Kind::Read;
  read->indices = {algebra::Poly(index)};
  const std::vector<std::vector<std::int64_t>> dims{{Kernel::threads_per_block}};
  const TensorExpr expr{dims[0], {index}, {{index, Kernel::threads_per_block}}, read};
  Plan plan;
  plan.kernels.push_back(make_kernel(expr, dims, {}, symbols));
  constexpr std::size_t bytes = Kernel::threads_per_block * sizeof(float);
  for (std::size_t t = 0; t < 2; ++t) plan.tensors.push_back({dims[0], false, t * bytes});
  for (std::uint32_t s = 0; s < steps; ++s) plan.steps.push_back({(s + 1) % 2, {s % 2}, {}, 0});
  plan.lifetimes.assign(2, {bytes, 0, steps});
  plan.arena_bytes = 2 * bytes;
  return plan;
}

std::vector<std::vector<float>> random_inputs(const Plan& plan) {
  std::vector<std::vector<float>> inputs;
  for (const auto& port : plan.inputs) {
    std::mt19937_64 random(port.tensor);
    auto& numbers = inputs.emplace_back(static_cast<std::size_t>(plan.tensors[port.tensor].elements()));
    for (float& number : numbers) number = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  }
  return inputs;
}

std::unique_ptr<CostSource> gpu_costs(OpenExecutor open, const std::filesystem::path& path, algebra::Library& library) {
  std::unique_ptr<PlanExecutor> executor = open();
  const std::vector<std::string> device{executor->device()};
  const std::string versions = executor->versions();
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(path)) {
    const std::string key = device[0] + ", " + versions;
    file /= "costs-" + runtime::to_hex(runtime::hash64(runtime::bytes_of(std::string_view(key)))) + ".h5";
  }
  CostTable table{versions, device[0], 1, {}};
  if (!file.empty() && std::filesystem::exists(file)) {
    CostTable known = read_cost_table(file);
    require_machine(known, device, file);
    if (known.runtime != versions)
      throw runtime::InputError(
          file.string(), fmt::format("was measured with other versions ({}; here are {})", known.runtime, versions));
    table = std::move(known);
  }
  return std::make_unique<GpuCosts>(std::move(open), std::move(executor), file, std::move(table), library);
}

std::unique_ptr<CostSource> cuda_costs(const std::filesystem::path& path, algebra::Library& library) {
  return gpu_costs(PlanExecutor::open, path, library);
}

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
