// Commands that start helper processes: type inference of single nodes, onnxruntime, formats of other programs.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace rulemill::cli {

/// This binary with a hidden subcommand; see optimize/onnx/shapes/inference.h.
std::vector<std::string> type_helper_command();
void add_type_helper(CLI::App& app, Command& chosen);

// All are empty if there is no Python: $RULEMILL_PYTHON, the environment that installation makes beside the build, or
// python3 on PATH.
std::vector<std::string> verifier_command();
std::vector<std::string> benchmark_command();
std::vector<std::string> node_costs_command();
/// Runs single nodes, in onnxruntime or as operators of PyTorch.
std::vector<std::string> node_runner_command(bool is_torch);
/// Reads and writes rules in the formats of other programs.
std::vector<std::string> exchange_command();
/// Runs commands of this binary for continuous integration.
std::vector<std::string> ci_command();

}  // namespace rulemill::cli
