// Runs a user's command in a shell and returns its output. At a timeout or an interrupt, the whole process group is
// killed.
#pragma once

#include <chrono>
#include <string>

namespace rulemill::runtime {

struct ShellResult {
  std::string output;   // of stdout, at most 4096 bytes
  std::string failure;  // "exit code 3", "signal 9", "time limit of 2000 ms"; empty on success
};

/// Runs `command` with the quoted `argument`. Stdin is empty, stderr is inherited. Throws Error if no shell can be
/// started, Interrupted after an interrupt.
ShellResult run_shell_command(const std::string& command, const std::string& argument,
                              std::chrono::milliseconds timeout);

}  // namespace rulemill::runtime
