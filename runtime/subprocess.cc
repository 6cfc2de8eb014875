#include "runtime/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "runtime/error.h"

extern char** environ;

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t largest_frame = std::uint64_t{1} << 32;
constexpr long send_seconds = 30;  // a helper that does not read for so long is stuck

std::vector<std::string> environment_without_launchers() {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool launcher = false;
    for (const char* prefix : {"OMPI_", "PMIX_", "PMI_", "SLURM_", "MPI_"}) launcher |= text.rfind(prefix, 0) == 0;
    if (!launcher) kept.emplace_back(text);
  }
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void ignore_stop_signals() {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) ::signal(signal, SIG_IGN);
}

/// What the child does between vfork and exec: system calls alone, since it still runs in our memory. It dies with the
/// thread that started it, whatever it is doing then. Being told to stop is its parent's affair: a job's signals reach
/// every process of a node. Returns only if something failed, with errno.
int become(char* const* command, char* const* environment, int its_end, std::uint64_t memory_bytes, pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != parent) return ECHILD;
  if (::setpgid(0, 0) != 0) return errno;  // its own group: a key press stops us, and we stop it
  if (memory_bytes > 0) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0) return errno;
    limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(memory_bytes, limit.rlim_max);
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return errno;
  }
  if (::dup2(its_end, STDIN_FILENO) < 0 || ::dup2(its_end, STDOUT_FILENO) < 0) return errno;
  if (::close_range(STDERR_FILENO + 1, ~0U, 0) != 0) return errno;
  ignore_stop_signals();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(command[0], command, environment);
  return errno;
}

/// The child's number, or 0 with errno set. vfork, not fork: nothing of ours is copied or touched, so it may be done at
/// any time beside MPI; posix_spawn can neither limit memory nor bind the child's life to ours.
pid_t start(char* const* command, char* const* environment, int its_end, std::uint64_t memory_bytes) {
  const pid_t parent = ::getpid();
  volatile int failure = 0;
  // No handler of ours may run in the child, which has our memory.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::vfork();
  if (child == 0) {
    failure = become(command, environment, its_end, memory_bytes, parent);
    ::_exit(127);
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  if (child > 0 && failure == 0) return child;
  if (child > 0) {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    errno = failure;
  }
  return 0;
}

/// Reads exactly out.size() bytes before the deadline. 1: done, 0: the other end is gone, −1: the time is over.
int read_exactly(int descriptor, std::span<std::byte> out, const steady_clock::time_point* deadline) {
  while (!out.empty()) {
    int wait = -1;
    if (deadline != nullptr) {
      const auto left = std::chrono::ceil<milliseconds>(*deadline - steady_clock::now()).count();
      if (left <= 0) return -1;
      wait = static_cast<int>(std::min<std::int64_t>(left, 1 << 30));
    }
    pollfd ready{descriptor, POLLIN, 0};
    const int events = ::poll(&ready, 1, wait);
    if (events < 0 && errno == EINTR) continue;
    if (events == 0) return -1;
    const ssize_t got = ::read(descriptor, out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return 1;
}

Bytes framed(ByteView frame) {
  Bytes bytes;
  bytes.reserve(sizeof(std::uint64_t) + frame.size());
  append_value(bytes, std::uint64_t{frame.size()});
  bytes.insert(bytes.end(), frame.begin(), frame.end());
  return bytes;
}

timespec in_timespec(std::chrono::microseconds time) {
  return {time.count() / 1'000'000, time.count() % 1'000'000 * 1000};
}

}  // namespace

std::filesystem::path own_binary() { return std::filesystem::read_symlink("/proc/self/exe"); }

Subprocess::Subprocess(const std::vector<std::string>& command, std::uint64_t memory_bytes) {
  RM_CHECK(!command.empty(), "no command");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(command[0], "no pipe for a helper process: " + std::generic_category().message(errno));
  }
  socket_ = ends[0];
  const timeval patience{send_seconds, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::vector<std::string> arguments = command;
  std::vector<std::string> environment = environment_without_launchers();
  pid_ = start(pointers(arguments).data(), pointers(environment).data(), ends[1], memory_bytes);
  const int error = errno;
  ::close(ends[1]);
  if (pid_ == 0) {
    pid_ = -1;
    ::close(socket_);
    throw Error(command[0], "the helper process cannot be started: " + std::generic_category().message(error));
  }
}

std::filesystem::path find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    const auto file = std::filesystem::path(folder) / name;
    if (std::filesystem::is_regular_file(file, ignored)) return file;
  }
  return {};
}

Subprocess::~Subprocess() {
  kill("no longer needed");
  ::close(socket_);
}

bool Subprocess::send(ByteView frame) {
  if (!alive()) return false;
  const Bytes bytes = framed(frame);
  for (ByteView rest = bytes; !rest.empty();) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      end(errno == EAGAIN ? "it does not read" : "");
      return false;
    }
    rest = rest.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Subprocess::ready(std::chrono::microseconds patience) const {
  if (!alive()) return true;
  pollfd answer{socket_, POLLIN, 0};
  const timespec wait = in_timespec(patience);
  return ::ppoll(&answer, 1, &wait, nullptr) > 0;
}

void Subprocess::wait_for_any(std::span<const Subprocess* const> processes, std::chrono::microseconds patience) {
  std::vector<pollfd> answers;
  for (const Subprocess* process : processes) {
    if (!process->alive()) return;
    answers.push_back({process->socket_, POLLIN, 0});
  }
  const timespec wait = in_timespec(patience);
  ::ppoll(answers.data(), answers.size(), &wait, nullptr);
}

std::optional<Bytes> Subprocess::receive(milliseconds timeout) {
  if (!alive()) return std::nullopt;
  const auto deadline = steady_clock::now() + timeout;
  std::uint64_t size = 0;
  int outcome = read_exactly(socket_, std::as_writable_bytes(std::span(&size, 1)), &deadline);
  Bytes frame;
  if (outcome == 1) {
    if (size > largest_frame) {
      end("it answered no frame");
      return std::nullopt;
    }
    frame.resize(size);
    outcome = read_exactly(socket_, frame, &deadline);
  }
  if (outcome == 1) return frame;
  end(outcome == 0 ? "" : "time limit of " + std::to_string(timeout.count()) + " ms");
  return std::nullopt;
}

double Subprocess::processor_seconds() const {
  clockid_t clock{};
  timespec time{};
  if (!alive() || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void Subprocess::kill(const std::string& reason) {
  if (alive()) end(reason);
}

void Subprocess::end(const std::string& reason) {
  int status = 0;
  // Gone by itself: give it a moment to be reaped with its own status before it is killed.
  bool ended = false;
  for (int attempt = 0; reason.empty() && !ended && attempt < 100; ++attempt) {
    ended = ::waitpid(pid_, &status, WNOHANG) == pid_;
    if (!ended) std::this_thread::sleep_for(milliseconds(2));
  }
  if (!ended) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  if (!reason.empty()) {
    end_reason_ = reason;
  } else if (WIFSIGNALED(status)) {
    end_reason_ = "signal " + std::to_string(WTERMSIG(status));
  } else {
    end_reason_ = "exit code " + std::to_string(WEXITSTATUS(status));
  }
}

void serve_frames(const std::function<Bytes(ByteView)>& handler) {
  ignore_stop_signals();
  // A helper outlives its parent only while it is busy; this ends it then, too.
  std::thread([] {
    pollfd parent{STDIN_FILENO, POLLRDHUP, 0};
    while (::poll(&parent, 1, -1) <= 0 || (parent.revents & (POLLHUP | POLLRDHUP | POLLERR)) == 0) {
    }
    ::_exit(0);
  }).detach();
  for (;;) {
    std::uint64_t size = 0;
    if (read_exactly(STDIN_FILENO, std::as_writable_bytes(std::span(&size, 1)), nullptr) != 1) return;
    Bytes frame(size);
    if (read_exactly(STDIN_FILENO, frame, nullptr) != 1) return;
    const Bytes answer = framed(handler(frame));
    for (ByteView rest = answer; !rest.empty();) {
      const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return;
      rest = rest.subspan(static_cast<std::size_t>(written));
    }
  }
}

}  // namespace rulemill::runtime
