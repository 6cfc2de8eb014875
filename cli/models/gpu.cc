// `rulemill gpu plan MODEL.onnx`: the plan by which a GPU runs a model; needs no GPU. `rulemill gpu time MODEL.onnx`:
// times it on this machine's GPU.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/number_option.h"
#include "optimize/gpu/device/costs.h"
#include "optimize/gpu/device/model_plan.h"
#include "optimize/gpu/kernels/compiler.h"

namespace rulemill::cli {
namespace {

namespace gpu = optimize::gpu;
using runtime::Json;

struct GpuOptions {
  std::string model, architecture = "sm_90", device = "h100", layout_table;
  std::int64_t dynamic_size = 1;
  std::size_t runs = 50;
  bool warm_caches = false, row_major = false, compare = false;
};

gpu::ModelPlan plan_of(const GpuOptions& given, const Options& options, gpu::LayoutCosts& layouts) {
  optimize::NodeInference inference(type_helper_command());
  return gpu::plan_model(given.model, definitions_folder(options), inference, {{}, given.dynamic_size},
                         given.row_major ? nullptr : &layouts);
}

/// The convolutions and poolings with their layouts, and the estimated time with and without choosing layouts.
Json layout_report(const gpu::Plan& plan) {
  Json calls = Json::array();
  for (const auto& step : plan.steps) {
    gpu::LayoutQuery query{step.op, {}, {}, plan.tensors[step.out].dims, plan.tensors[step.out].layout};
    if (const auto* convolution = std::get_if<gpu::Convolution>(&step.op)) {
      query.image = plan.tensors[convolution->image].dims;
      query.filters = plan.tensors[convolution->filters].dims;
    } else if (const auto* pooling = std::get_if<gpu::Pooling>(&step.op)) {
      query.image = plan.tensors[pooling->image].dims;
    } else {
      continue;
    }
    calls.push_back(gpu::describe(query));
  }
  return {{"calls", std::move(calls)},
          {"copies", plan.copies},
          {"seconds", plan.layout_seconds},
          {"row_major_seconds", plan.row_major_seconds}};
}

/// The resource usage of each kernel, by decreasing number of registers.
std::string kernel_report(const gpu::ModelPlan& model, const std::string& architecture, Json& report) {
  const auto compiled =
      gpu::compile(gpu::translation_unit(model.plan.kernels, model.library->functions()), architecture);
  std::vector<std::pair<std::string, gpu::KernelResources>> uses(compiled.resources.begin(), compiled.resources.end());
  std::ranges::stable_sort(uses, std::ranges::greater(), [](const auto& use) { return use.second.registers; });
  std::string text =
      fmt::format("{:28} {:>9} {:>6} {:>6} {:>9}\n", "kernel", "registers", "stack", "spills", "occupancy");
  for (const auto& [name, use] : uses) {
    const auto spills = use.spill_store_bytes + use.spill_load_bytes;
    text += fmt::format("{:28} {:>9} {:>6} {:>6} {:>8.0f}%\n", name, use.registers, use.stack_bytes, spills,
                        100 * use.occupancy());
    report["kernels"].push_back({{"name", name},
                                 {"registers", use.registers},
                                 {"stack_bytes", use.stack_bytes},
                                 {"spill_bytes", spills},
                                 {"occupancy", use.occupancy()}});
  }
  return text;
}

void run_plan(Context& context, const GpuOptions& given) {
  if (!context.world.is_root()) return;
  optimize::CostTable times;
  if (!given.layout_table.empty()) times = optimize::read_cost_table(given.layout_table);
  const auto layouts = gpu::measured_layout_costs(optimize::find_device(given.device), times, nullptr);
  const gpu::ModelPlan model = plan_of(given, context.options, *layouts);
  context.print(given.model + ": " + gpu::summarize(model.plan) + "\n");
  context.report = {{"model", given.model},
                    {"steps", model.plan.steps.size()},
                    {"arena_bytes", model.plan.arena_bytes},
                    {"min_arena_bytes", gpu::min_arena_bytes(model.plan.lifetimes)},
                    {"constant_bytes", model.plan.constant_bytes},
                    {"layouts", layout_report(model.plan)},
                    {"kernels", Json::array()}};
  if (const auto compiler = gpu::compiler_version()) {
    context.print(kernel_report(model, given.architecture, context.report));
  } else {
    context.print("no kernel report: this build has no NVRTC\n");
  }
}

/// Reads the table of measured times; starts a new one if it is of other versions. Throws InputError if it is of
/// another device.
optimize::CostTable layout_times(const GpuOptions& given, const gpu::PlanExecutor& executor) {
  optimize::CostTable fresh{executor.versions(), executor.device(), 1, {}};
  if (given.layout_table.empty() || !std::filesystem::exists(given.layout_table)) return fresh;
  optimize::CostTable known = optimize::read_cost_table(given.layout_table);
  optimize::require_machine(known, std::vector{fresh.machine}, given.layout_table);
  if (known.runtime != fresh.runtime) return fresh;
  return known;
}

/// The outputs of a plan in float32 are this near to the definitions in float64.
constexpr double max_difference = 1e-3;

void run_time(Context& context, const GpuOptions& given) {
  if (!context.world.is_root()) return;
  const auto executor = gpu::PlanExecutor::open();
  optimize::CostTable times = layout_times(given, *executor);
  const std::size_t known = times.seconds.size();
  const auto layouts = gpu::measured_layout_costs(optimize::find_device(given.device), times, executor.get());
  const gpu::ModelPlan model = plan_of(given, context.options, *layouts);
  if (!given.layout_table.empty() && times.seconds.size() > known)
    optimize::write_cost_table(times, given.layout_table);
  const auto loaded =
      executor->load(model.plan, model.library->functions(), [&](optimize::ValueId id) { return model.constant(id); });
  const auto inputs = model.random_inputs();
  const auto outputs = loaded->run(inputs);
  std::optional<double> difference;
  if (given.compare) {
    difference = model.difference(inputs, outputs);
    if (!(*difference <= max_difference))
      throw runtime::Error(given.model, fmt::format("the outputs on the GPU differ from the definitions by {:.1e} of "
                                                    "the largest element; expected at most {:.0e}",
                                                    *difference, max_difference));
  }
  const gpu::RunTime time = loaded->time({given.runs, 5, !given.warm_caches});
  // The output format that `optimize --benchmark-command` reads.
  context.print(fmt::format("{:.6f}\n", time.median * 1e3));
  context.report = {{"model", given.model},
                    {"device", executor->device()},
                    {"versions", executor->versions()},
                    {"seconds", time.median},
                    {"lower", time.lower},
                    {"upper", time.upper},
                    {"plan", gpu::summarize(model.plan)},
                    {"layouts", layout_report(model.plan)},
                    {"cold_caches", !given.warm_caches}};
  if (difference) context.report["difference"] = *difference;
}

}  // namespace

void add_gpu(CLI::App& app, Options& options, Command& chosen) {
  auto* command = app.add_subcommand("gpu", "Plan and time a model on a GPU");
  command->require_subcommand(1);
  auto given = std::make_shared<GpuOptions>();
  const auto add = [&](const char* name, const char* what, void (*run)(Context&, const GpuOptions&)) {
    auto* made = command->add_subcommand(name, what);
    options.files.reads(made->add_option("MODEL", given->model, "the model (*.onnx)"), PathKind::Model)->required();
    made->add_option("--dynamic-size", given->dynamic_size, "value of every dynamic dimension of the model")
        ->check(whole_number(1));
    made->add_option("--device", given->device, "device model that estimates what has not been measured")
        ->check(one_of("device", optimize::device_names()));
    made->add_flag("--row-major", given->row_major,
                   "keep all tensors in the layout of the model (NCHW); default: choose layouts by cost");
    add_general_options(*made, options);
    choose(*made, chosen, run, given);
    return made;
  };
  auto* plan = add("plan", "Print the plan: kernels, library calls, layouts and memory; needs no GPU", run_plan);
  plan->add_option("--architecture", given->architecture, "GPU architecture to compile kernels for");
  options.files.reads(plan->add_option("--layout-table", given->layout_table,
                                       "file of measured times in both layouts, as written by `gpu time`"));
  auto* time =
      add("time", "Print the median milliseconds of one run, as needed by `optimize --benchmark-command`", run_time);
  time->add_option("--runs", given->runs, "number of timed runs")->check(whole_number(1, 1000000));
  options.files.updates(
      time->add_option("--layout-table", given->layout_table,
                       "file of measured times in both layouts; missing times are measured and added"));
  time->add_flag("--warm-caches", given->warm_caches, "do not flush the caches between runs");
  time->add_flag("--compare", given->compare,
                 "first compare the outputs for random inputs with the definitions, evaluated on the CPU");
}

}  // namespace rulemill::cli
