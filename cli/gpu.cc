// `rulemill gpu plan MODEL.onnx`: how a GPU would run a model; needs none. `rulemill gpu time MODEL.onnx`: runs it
// there.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/number_option.h"
#include "optimize/gpu/compiler.h"
#include "optimize/gpu/layout_costs.h"
#include "optimize/gpu/model_plan.h"

namespace rulemill::cli {
namespace {

namespace gpu = optimize::gpu;
using runtime::Json;

struct Inputs {
  std::string model, architecture = "sm_90", device = "h100", cost_table;
  std::int64_t open_size = 1;
  std::size_t runs = 50;
  bool warm = false, row_major = false;
};

gpu::ModelPlan plan_of(const Inputs& inputs, const Options& options, gpu::LayoutCosts& layouts) {
  optimize::NodeInference inference(type_helper_command());
  return gpu::plan_of_model(inputs.model, definitions_folder(options), inference, inputs.open_size,
                            inputs.row_major ? nullptr : &layouts);
}

/// Each convolution and pool with its layout, and what choosing them saves by their costs.
Json layout_report(const gpu::Plan& plan) {
  Json calls = Json::array();
  for (const auto& step : plan.steps) {
    gpu::LayoutQuery query{step.form, {}, {}, plan.tensors[step.out].dims, plan.tensors[step.out].layout};
    if (const auto* convolution = std::get_if<gpu::Convolution>(&step.form)) {
      query.image = plan.tensors[convolution->image].dims;
      query.filters = plan.tensors[convolution->filters].dims;
    } else if (const auto* pooling = std::get_if<gpu::Pooling>(&step.form)) {
      query.image = plan.tensors[pooling->image].dims;
    } else {
      continue;
    }
    calls.push_back(gpu::text_of(query));
  }
  return {{"calls", std::move(calls)},
          {"copies", plan.copies},
          {"seconds", plan.layout_seconds},
          {"row_major_seconds", plan.row_major_seconds}};
}

/// What the compiler says of each kernel, the one with the most registers first.
std::string kernel_report(const gpu::ModelPlan& model, const std::string& architecture, Json& report) {
  const auto compiled =
      gpu::compile(gpu::translation_unit(model.plan.kernels, model.library->functions()), architecture);
  std::vector<std::pair<std::string, gpu::KernelUse>> uses(compiled.use.begin(), compiled.use.end());
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

void run_plan(Context& context, const Inputs& inputs) {
  if (!context.world.is_root()) return;
  optimize::CostTable times;
  if (!inputs.cost_table.empty()) times = optimize::read_cost_table(inputs.cost_table);
  const auto layouts = gpu::measured_layouts(optimize::find_device(inputs.device), times, nullptr);
  const gpu::ModelPlan model = plan_of(inputs, context.options, *layouts);
  context.print(inputs.model + ": " + gpu::summary_of(model.plan) + "\n");
  context.report = {{"model", inputs.model},
                    {"steps", model.plan.steps.size()},
                    {"arena_bytes", model.plan.arena_bytes},
                    {"least_bytes", gpu::least_bytes(model.plan.lifetimes)},
                    {"constant_bytes", model.plan.constant_bytes},
                    {"layouts", layout_report(model.plan)},
                    {"kernels", Json::array()}};
  if (const auto compiler = gpu::compiler_version()) {
    context.print(kernel_report(model, inputs.architecture, context.report));
  } else {
    context.print("no report on kernels: this build has no NVRTC\n");
  }
}

/// Of this device and these versions, and no others. Throws InputError for another's.
optimize::CostTable layout_times(const Inputs& inputs, const gpu::Executor& executor) {
  optimize::CostTable fresh{executor.versions(), executor.device(), 1, {}};
  if (inputs.cost_table.empty() || !std::filesystem::exists(inputs.cost_table)) return fresh;
  optimize::CostTable known = optimize::read_cost_table(inputs.cost_table);
  optimize::require_machine(known, std::vector{fresh.machine}, inputs.cost_table);
  if (known.runtime != fresh.runtime) return fresh;
  return known;
}

void run_time(Context& context, const Inputs& inputs) {
  if (!context.world.is_root()) return;
  const auto executor = gpu::Executor::open();
  optimize::CostTable times = layout_times(inputs, *executor);
  const std::size_t known = times.seconds.size();
  const auto layouts = gpu::measured_layouts(optimize::find_device(inputs.device), times, executor.get());
  const gpu::ModelPlan model = plan_of(inputs, context.options, *layouts);
  if (!inputs.cost_table.empty() && times.seconds.size() > known) optimize::write_cost_table(times, inputs.cost_table);
  const auto loaded =
      executor->load(model.plan, model.library->functions(), [&](optimize::ValueId id) { return model.constant(id); });
  loaded->run(model.some_inputs());
  const gpu::RunTime time = loaded->time({inputs.runs, 5, !inputs.warm});
  // As `optimize --time-with` wants it.
  context.print(fmt::format("{:.6f}\n", time.median * 1e3));
  context.report = {{"model", inputs.model},
                    {"device", executor->device()},
                    {"versions", executor->versions()},
                    {"seconds", time.median},
                    {"lower", time.lower},
                    {"upper", time.upper},
                    {"plan", gpu::summary_of(model.plan)},
                    {"layouts", layout_report(model.plan)},
                    {"cold", !inputs.warm}};
}

}  // namespace

void add_gpu(CLI::App& app, Options& options, Command& chosen) {
  auto* command = app.add_subcommand("gpu", "How a GPU runs a model, and how long that takes");
  command->require_subcommand(1);
  auto inputs = std::make_shared<Inputs>();
  const auto add = [&](const char* name, const char* what, void (*run)(Context&, const Inputs&)) {
    auto* made = command->add_subcommand(name, what);
    made->add_option("MODEL", inputs->model, "the model (*.onnx)")->required();
    made->add_option("--open-size", inputs->open_size, "what every size is that the model leaves open")
        ->check(whole_number(1))
        ->capture_default_str();
    made->add_option("--device", inputs->device, "whose figures price what has not been measured")
        ->capture_default_str();
    made->add_flag("--row-major", inputs->row_major, "keep every tensor as ONNX has it; otherwise layouts are chosen");
    add_definitions_option(*made, options);
    add_common_options(*made, options);
    made->callback([inputs, run, &chosen] { chosen = [inputs, run](Context& context) { run(context, *inputs); }; });
    return made;
  };
  auto* plan =
      add("plan", "which library or kernel runs what, in which layout, and the memory; needs no GPU", run_plan);
  plan->add_option("--architecture", inputs->architecture, "that kernels are compiled for")->capture_default_str();
  plan->add_option("--layout-times", inputs->cost_table, "a table that `gpu time --layout-times` has written");
  auto* time =
      add("time", "prints the milliseconds of one run, the median: `--time-with \"rulemill gpu time\"`", run_time);
  time->add_option("--runs", inputs->runs, "that are timed")->check(whole_number(1, 1000000))->capture_default_str();
  time->add_option("--layout-times", inputs->cost_table,
                   "a table for the times of calls in both layouts: read, added to");
  time->add_flag("--warm", inputs->warm, "leave in the caches what the run before left there");
}

}  // namespace rulemill::cli
