// A command of the user's, run by the shell for what it prints: limited in time, its whole process group is killed when
// the time is over or we are told to stop.
#pragma once

#include <chrono>
#include <string>

namespace rulemill::runtime {

struct ShellResult {
  std::string output;   // of stdout; what is longer than a page is cut
  std::string failure;  // "exit code 3", "signal 9", "time limit of 2000 ms"; empty if it ended well
};

/// Runs `command` with `argument` after it, quoted. Stdin is empty, stderr is shared. Throws Error if no shell can be
/// started, Interrupted if told to stop.
ShellResult run_shell_command(const std::string& command, const std::string& argument, std::chrono::milliseconds limit);

}  // namespace rulemill::runtime
