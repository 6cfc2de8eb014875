#include "runtime/process/shell_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include "runtime/process/descriptor.h"
#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

extern char** environ;

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t max_output_bytes = 4096;
constexpr milliseconds poll_interval{50};  // between checks for an interrupt

/// A process group that is killed at the end of the scope.
class ProcessGroup {
 public:
  explicit ProcessGroup(pid_t leader) : leader_(leader) {}
  ~ProcessGroup() { kill(); }
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Returns whether the leader has ended, and its exit status.
  bool has_ended(int& status) {
    if (leader_ == 0) return false;
    if (::waitpid(leader_, &status, WNOHANG) != leader_) return false;
    ::kill(-leader_, SIGKILL);  // remaining children
    leader_ = 0;
    return true;
  }
  void kill() {
    if (leader_ == 0) return;
    ::kill(-leader_, SIGKILL);
    while (::waitpid(leader_, nullptr, 0) < 0 && errno == EINTR) {
    }
    leader_ = 0;
  }

 private:
  pid_t leader_;
};

/// Starts the shell as the leader of a new process group with stdout redirected to `out`. Returns its process id.
pid_t start(const std::string& command, const std::string& argument, int out) {
  std::string shell = "/bin/sh", flag = "-c", script = command + " \"$1\"", name = "sh", given = argument;
  char* const arguments[] = {shell.data(), flag.data(), script.data(), name.data(), given.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, shell.c_str(), &actions, &attributes, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw Error(shell, "cannot be started: " + std::generic_category().message(error));
  return pid;
}

/// Appends the available output; returns false at its end.
bool drain(int descriptor, std::string& into, milliseconds timeout) {
  pollfd ready{descriptor, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(timeout.count())) <= 0) return true;
  char buffer[4096];
  const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR;
  if (got == 0) return false;
  into.append(buffer, static_cast<std::size_t>(got));
  into.resize(std::min(into.size(), max_output_bytes));
  return true;
}

std::string describe_failure(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ShellResult run_shell_command(const std::string& command, const std::string& argument, milliseconds timeout) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(command, "cannot create a pipe: " + std::generic_category().message(errno));
  }
  const Descriptor reader(ends[0]);
  const auto deadline = steady_clock::now() + timeout;
  pid_t leader = 0;
  {
    const Descriptor writer(ends[1]);
    leader = start(command, argument, writer.get());
  }
  ProcessGroup group(leader);
  ShellResult result;
  int status = 0;
  for (bool open = true; !group.has_ended(status);) {
    throw_if_interrupted("timing");
    if (steady_clock::now() >= deadline) {
      group.kill();
      result.failure = "time limit of " + std::to_string(timeout.count()) + " ms";
      return result;
    }
    if (open) {
      open = drain(reader.get(), result.output, poll_interval);
    } else {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  // The group has ended: the pipe holds the rest of its output.
  while (drain(reader.get(), result.output, milliseconds(0)) && result.output.size() < max_output_bytes) {
    pollfd more{reader.get(), POLLIN, 0};
    if (::poll(&more, 1, 0) <= 0) break;
  }
  result.failure = describe_failure(status);
  return result;
}

}  // namespace rulemill::runtime
