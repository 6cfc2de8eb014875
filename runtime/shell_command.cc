#include "runtime/shell_command.h"

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

#include "runtime/error.h"
#include "runtime/interrupt.h"

extern char** environ;

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t longest_output = 4096;
constexpr milliseconds tick{50};  // between looks at whether we are told to stop

/// A process group, killed and reaped at the end of its scope.
class Group {
 public:
  explicit Group(pid_t leader) : leader_(leader) {}
  ~Group() { kill(); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Its exit status once it has ended by itself.
  bool has_ended(int& status) {
    if (leader_ == 0) return false;
    if (::waitpid(leader_, &status, WNOHANG) != leader_) return false;
    ::kill(-leader_, SIGKILL);  // what it left behind
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

/// Starts the shell in a group of its own, with stdout into `out`; its number.
pid_t start(const std::string& command, const std::string& argument, int out) {
  std::string shell = "/bin/sh", flag = "-c", script = command + " \"$1\"", name = "sh", given = argument;
  char* const words[] = {shell.data(), flag.data(), script.data(), name.data(), given.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, shell.c_str(), &actions, &attributes, words, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw Error(shell, "cannot be started: " + std::generic_category().message(error));
  return pid;
}

/// Reads what is there; false at the end.
bool drain(int descriptor, std::string& into, milliseconds patience) {
  pollfd ready{descriptor, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(patience.count())) <= 0) return true;
  char buffer[4096];
  const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR;
  if (got == 0) return false;
  into.append(buffer, static_cast<std::size_t>(got));
  into.resize(std::min(into.size(), longest_output));
  return true;
}

std::string failure_of(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ShellResult run_shell_command(const std::string& command, const std::string& argument, milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(command, "no pipe for it: " + std::generic_category().message(errno));
  }
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } reader{ends[0]};
  const auto deadline = steady_clock::now() + limit;
  pid_t leader = 0;
  {
    Closer writer{ends[1]};
    leader = start(command, argument, ends[1]);
  }
  Group group(leader);
  ShellResult result;
  int status = 0;
  for (bool open = true; !group.has_ended(status);) {
    throw_if_interrupted("timing");
    if (steady_clock::now() >= deadline) {
      group.kill();
      result.failure = "time limit of " + std::to_string(limit.count()) + " ms";
      return result;
    }
    if (open) {
      open = drain(ends[0], result.output, tick);
    } else {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  // The group is gone: what it wrote is in the pipe, and then its end.
  while (drain(ends[0], result.output, milliseconds(0)) && result.output.size() < longest_output) {
    pollfd more{ends[0], POLLIN, 0};
    if (::poll(&more, 1, 0) <= 0) break;
  }
  result.failure = failure_of(status);
  return result;
}

}  // namespace rulemill::runtime
