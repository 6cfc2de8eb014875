#include "cli/model_processes.h"

#include <cstdlib>
#include "cli/shipped_files.h"
#include "optimize/onnx/shapes/inference.h"
#include "runtime/process/subprocess.h"

namespace rulemill::cli {
namespace {

constexpr const char* subcommand = "type-helper";

/// Empty if there is none, or if $RULEMILL_PYTHON is set to an empty text.
std::string python() {
  if (const char* given = std::getenv("RULEMILL_PYTHON")) return given;
  std::error_code ignored;
  const auto beside_build = runtime::current_executable().parent_path().parent_path() / "venv/bin/python3";
  if (std::filesystem::exists(beside_build, ignored)) return beside_build.string();
  return runtime::find_program("python3").string();
}

/// Empty if there is no Python or no such script.
std::vector<std::string> python_command(const std::string& script) {
  const std::string interpreter = python();
  const auto path = shipped_folder("python") / script;
  if (interpreter.empty() || !std::filesystem::exists(path)) return {};
  return {interpreter, path.string()};
}

}  // namespace

std::vector<std::string> type_helper_command() { return {runtime::current_executable().string(), subcommand}; }

void add_type_helper(CLI::App& app, Command& chosen) {
  auto* helper = app.add_subcommand(subcommand, "");
  helper->group("");  // hidden: started by its parent process only
  helper->callback([&chosen] { chosen = [](Context&) { optimize::serve_node_inference(); }; });
}

std::vector<std::string> verifier_command() { return python_command("onnxruntime_helpers/verify.py"); }

std::vector<std::string> benchmark_command() { return python_command("onnxruntime_helpers/benchmark.py"); }

std::vector<std::string> node_costs_command() { return python_command("onnxruntime_helpers/node_costs.py"); }

std::vector<std::string> node_runner_command(bool is_torch) {
  return python_command(is_torch ? "onnxruntime_helpers/torch_cases.py" : "onnxruntime_helpers/operator_cases.py");
}

std::vector<std::string> exchange_command() { return python_command("rulemill/exchange/__main__.py"); }

std::vector<std::string> ci_command() { return python_command("rulemill/ci/__main__.py"); }

}  // namespace rulemill::cli
