// The helper processes of commands that read models: what types single nodes, and what judges and times by onnxruntime.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace rulemill::cli {

/// This binary with a hidden subcommand; see optimize/onnx/inference.h.
std::vector<std::string> type_helper_command();
void add_type_helper(CLI::App& app, Command& chosen);

/// Empty for "definitions", and where no Python is found: $RULEMILL_PYTHON, the environment that installation makes
/// beside the build, or what PATH has.
std::vector<std::string> judge_command(const std::string& which);
/// Likewise of the helpers that time models and single nodes.
std::vector<std::string> clock_command();
std::vector<std::string> cost_command();
/// Of the helper that runs single nodes; empty where there is no Python.
std::vector<std::string> cases_command();

}  // namespace rulemill::cli
