#include "cli/model_processes.h"

#include <cstdlib>
#include "optimize/onnx/inference.h"
#include "runtime/subprocess.h"

namespace rulemill::cli {
namespace {

constexpr const char* subcommand = "type-helper";

/// Empty if there is none, or if the variable is set and says so.
std::string python() {
  if (const char* given = std::getenv("RULEMILL_PYTHON")) return given;
  std::error_code ignored;
  const auto beside_build = runtime::own_binary().parent_path().parent_path() / "venv/bin/python3";
  if (std::filesystem::exists(beside_build, ignored)) return beside_build.string();
  return runtime::find_program("python3").string();
}

/// Empty if there is no Python for it.
std::vector<std::string> helper(const std::string& script) {
  const std::string interpreter = python();
  const auto path = data_folder() / "judges" / script;
  if (interpreter.empty() || !std::filesystem::exists(path)) return {};
  return {interpreter, path.string()};
}

}  // namespace

std::vector<std::string> type_helper_command() { return {runtime::own_binary().string(), subcommand}; }

void add_type_helper(CLI::App& app, Command& chosen) {
  auto* helper = app.add_subcommand(subcommand, "");
  helper->group("");  // hidden: it speaks in frames with its parent
  helper->callback([&chosen] { chosen = [](Context&) { optimize::serve_node_inference(); }; });
}

std::vector<std::string> judge_command(const std::string& which) {
  return which == "definitions" ? std::vector<std::string>{} : helper("onnxruntime_judge.py");
}

std::vector<std::string> clock_command() { return helper("onnxruntime_clock.py"); }

std::vector<std::string> cost_command() { return helper("onnxruntime_costs.py"); }

std::vector<std::string> cases_command() { return helper("onnxruntime_cases.py"); }

}  // namespace rulemill::cli
