#include "runtime/process/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

/// Returns a null-terminated list of the texts, as execve() expects it.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Replaces the child by the command between vfork and exec. It makes only system calls, because it shares our memory.
/// A worker ignores signals to stop, which a job sends to every process of a node: its parent handles them. Returns
/// errno if something failed.
int exec_child(char* const* command, char* const* environment, const ProcessStart& start, pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != parent) return ECHILD;
  if (::setpgid(0, 0) != 0) return errno;  // so that the terminal's Ctrl-C reaches only the parent
  if (start.memory_bytes > 0) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0) return errno;
    limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(start.memory_bytes, limit.rlim_max);
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return errno;
  }
  if (::dup2(start.in, STDIN_FILENO) < 0 || ::dup2(start.out, STDOUT_FILENO) < 0) return errno;
  for (const int kept : {STDIN_FILENO, STDOUT_FILENO}) {
    if (::fcntl(kept, F_SETFD, 0) != 0) return errno;  // a descriptor that is its own copy would be closed
  }
  if (start.is_worker && ::close_range(STDERR_FILENO + 1, ~0U, 0) != 0) return errno;
  set_stop_signals(start.is_worker ? SIG_IGN : SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(command[0], command, environment);
  return errno;
}

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

std::vector<std::string> current_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

std::vector<std::string> environment_without_launchers() {
  std::vector<std::string> kept = current_environment();
  std::erase_if(kept, [](const std::string& entry) {
    return std::ranges::any_of(std::array{"OMPI_", "PMIX_", "PMI_", "SLURM_", "MPI_"},
                               [&](const char* prefix) { return entry.starts_with(prefix); });
  });
  return kept;
}

// vfork copies no memory, which makes it safe beside MPI; posix_spawn can neither limit memory nor kill the child with
// its parent.
pid_t start_process(ProcessStart start) {
  RM_CHECK(!start.command.empty(), "no command");
  const std::vector<char*> command = pointers(start.command), environment = pointers(start.environment);
  const pid_t parent = ::getpid();
  volatile int failure = 0;
  // Signal handlers must not run in the child, which shares our memory.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::vfork();
  if (child == 0) {
    failure = exec_child(command.data(), environment.data(), start, parent);
    ::_exit(127);
  }
  const int error = child < 0 ? errno : failure;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) return child;
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  throw Error(start.command[0], "cannot be started: " + std::generic_category().message(error));
}

ShellResult run_shell_command(const std::string& command, const std::string& argument, milliseconds timeout) {
  return run_program({"/bin/sh", "-c", command + " \"$1\"", "sh", argument}, current_environment(), timeout);
}

ShellResult run_program(std::vector<std::string> command, std::vector<std::string> environment, milliseconds timeout) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(command[0], "cannot create a pipe: " + std::generic_category().message(errno));
  }
  const Descriptor reader(ends[0]);
  const auto deadline = steady_clock::now() + timeout;
  pid_t leader = 0;
  {
    const Descriptor writer(ends[1]), empty(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    leader = start_process({std::move(command), std::move(environment), empty.get(), writer.get()});
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
