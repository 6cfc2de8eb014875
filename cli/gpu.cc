// `rulemill gpu plan MODEL.onnx`: how a GPU would run a model; needs none. `rulemill gpu time MODEL.onnx`: runs it
// there.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/model_processes.h"
#include "cli/number_option.h"
#include "optimize/gpu/compiler.h"
#include "optimize/gpu/model_plan.h"

namespace rulemill::cli {
namespace {

namespace gpu = optimize::gpu;
using runtime::Json;

struct Inputs {
  std::string model, architecture = "sm_90";
  std::int64_t open_size = 1;
  std::size_t runs = 50;
  bool warm = false;
};

gpu::ModelPlan plan_of(const Inputs& inputs, const Options& options) {
  optimize::NodeInference inference(type_helper_command());
  return gpu::plan_of_model(inputs.model, definitions_folder(options), inference, inputs.open_size);
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
  const gpu::ModelPlan model = plan_of(inputs, context.options);
  context.print(inputs.model + ": " + gpu::summary_of(model.plan) + "\n");
  context.report = {{"model", inputs.model},
                    {"steps", model.plan.steps.size()},
                    {"arena_bytes", model.plan.arena_bytes},
                    {"least_bytes", gpu::least_bytes(model.plan.lifetimes)},
                    {"constant_bytes", model.plan.constant_bytes},
                    {"kernels", Json::array()}};
  if (const auto compiler = gpu::compiler_version()) {
    context.print(kernel_report(model, inputs.architecture, context.report));
  } else {
    context.print("no report on kernels: this build has no NVRTC\n");
  }
}

void run_time(Context& context, const Inputs& inputs) {
  if (!context.world.is_root()) return;
  const auto executor = gpu::Executor::open();
  const gpu::ModelPlan model = plan_of(inputs, context.options);
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
    add_definitions_option(*made, options);
    add_common_options(*made, options);
    made->callback([inputs, run, &chosen] { chosen = [inputs, run](Context& context) { run(context, *inputs); }; });
    return made;
  };
  add("plan", "which library or kernel runs what, and the memory; needs no GPU", run_plan)
      ->add_option("--architecture", inputs->architecture, "that kernels are compiled for")
      ->capture_default_str();
  auto* time =
      add("time", "prints the milliseconds of one run, the median: `--time-with \"rulemill gpu time\"`", run_time);
  time->add_option("--runs", inputs->runs, "that are timed")->check(whole_number(1, 1000000))->capture_default_str();
  time->add_flag("--warm", inputs->warm, "leave in the caches what the run before left there");
}

}  // namespace rulemill::cli
