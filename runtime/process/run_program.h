// Starts a child process that is killed when the thread that started it ends for any reason, or runs one to its end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace rulemill::runtime {

struct ProcessStart {
  std::vector<std::string> command;      // the path of a program and its arguments
  std::vector<std::string> environment;  // "NAME=value"
  int in = -1, out = -1;                 // descriptors of its stdin and stdout; stderr is inherited
  std::uint64_t memory_bytes = 0;        // limit; 0: none
  bool is_worker = false;                // it inherits no other descriptors, and ignores signals to stop
};

std::vector<std::string> current_environment();
/// The same without the variables of MPI and Slurm, for a process that is not a rank of its job.
std::vector<std::string> environment_without_launchers();

/// Returns the process id; the child leads a process group of its own. Throws Error if it cannot be started.
pid_t start_process(ProcessStart start);

struct ShellResult {
  std::string output;   // of stdout, at most 4096 bytes
  std::string failure;  // "exit code 3", "signal 9", "time limit of 2000 ms"; empty on success
};

/// Runs `command` with the quoted `argument`. Stdin is empty, stderr is inherited. Throws Error if no shell can be
/// started, Interrupted after an interrupt.
ShellResult run_shell_command(const std::string& command, const std::string& argument,
                              std::chrono::milliseconds timeout);
/// The same for a program, given by its path, with its arguments and environment. It inherits descriptors.
ShellResult run_program(std::vector<std::string> command, std::vector<std::string> environment,
                        std::chrono::milliseconds timeout);

}  // namespace rulemill::runtime
