#include "runtime/process/subprocess.h"

#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "runtime/process/descriptor.h"
#include "runtime/process/interrupt.h"
#include "runtime/process/run_program.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t max_frame_bytes = std::uint64_t{1} << 32;
constexpr long send_timeout_seconds = 30;  // a child that does not read for so long hangs

enum class ReadStatus : std::uint8_t { Complete, Closed, TimedOut };

/// Reads exactly out.size() bytes before the deadline.
ReadStatus read_exactly(int descriptor, std::span<std::byte> out, const steady_clock::time_point* deadline) {
  while (!out.empty()) {
    int wait = -1;
    if (deadline != nullptr) {
      const auto left = std::chrono::ceil<milliseconds>(*deadline - steady_clock::now()).count();
      if (left <= 0) return ReadStatus::TimedOut;
      wait = static_cast<int>(std::min<std::int64_t>(left, 1 << 30));
    }
    pollfd ready{descriptor, POLLIN, 0};
    const int events = ::poll(&ready, 1, wait);
    if (events < 0 && errno == EINTR) continue;
    if (events == 0) return ReadStatus::TimedOut;
    const ssize_t got = ::read(descriptor, out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ReadStatus::Closed;
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return ReadStatus::Complete;
}

/// Prefixes the frame with its size.
Bytes encode_frame(ByteView frame) {
  Bytes bytes;
  bytes.reserve(sizeof(std::uint64_t) + frame.size());
  append_value(bytes, std::uint64_t{frame.size()});
  bytes.insert(bytes.end(), frame.begin(), frame.end());
  return bytes;
}

timespec to_timespec(std::chrono::microseconds time) {
  return {time.count() / 1'000'000, time.count() % 1'000'000 * 1000};
}

/// Appends the build id of the first object, the program, to the string `id`, and ends the iteration. Layout: elf(5).
int add_build_id(dl_phdr_info* program, std::size_t /*size*/, void* id) {
  for (const auto& segment : std::span(program->dlpi_phdr, program->dlpi_phnum)) {
    if (segment.p_type != PT_NOTE) continue;
    const std::size_t unit = segment.p_align == 8 ? 8 : 4;
    const auto padded = [unit](std::size_t size) { return (size + unit - 1) / unit * unit; };
    const auto* next = reinterpret_cast<const std::byte*>(program->dlpi_addr + segment.p_vaddr);
    for (const auto* end = next + segment.p_memsz; next < end;) {
      ElfW(Nhdr) note;
      std::memcpy(&note, next, sizeof(note));
      const auto* name = next + sizeof(note);
      const auto* content = next + padded(sizeof(note) + note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        for (const std::byte byte : std::span(content, note.n_descsz))
          *static_cast<std::string*>(id) += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
      }
      next = content + padded(note.n_descsz);
    }
  }
  return 1;
}

}  // namespace

std::filesystem::path current_executable() { return std::filesystem::read_symlink("/proc/self/exe"); }

Subprocess::Subprocess(const std::vector<std::string>& command, std::uint64_t memory_bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(command[0], "cannot create a socket for a child process: " + std::generic_category().message(errno));
  }
  Descriptor socket(ends[0]);
  const Descriptor child_end(ends[1]);
  const timeval timeout{send_timeout_seconds, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  pid_ =
      start_process({command, environment_without_launchers(), child_end.get(), child_end.get(), memory_bytes, true});
  socket_ = socket.release();
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
  if (!is_alive()) return false;
  const Bytes bytes = encode_frame(frame);
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

bool Subprocess::is_ready(std::chrono::microseconds timeout) const {
  if (!is_alive()) return true;
  pollfd answer{socket_, POLLIN, 0};
  const timespec wait = to_timespec(timeout);
  return ::ppoll(&answer, 1, &wait, nullptr) > 0;
}

void Subprocess::wait_for_any(std::span<const Subprocess* const> processes, std::chrono::microseconds timeout) {
  std::vector<pollfd> answers;
  for (const Subprocess* process : processes) {
    if (!process->is_alive()) return;
    answers.push_back({process->socket_, POLLIN, 0});
  }
  const timespec wait = to_timespec(timeout);
  ::ppoll(answers.data(), answers.size(), &wait, nullptr);
}

std::optional<Bytes> Subprocess::receive(milliseconds timeout) {
  if (!is_alive()) return std::nullopt;
  const auto deadline = steady_clock::now() + timeout;
  std::uint64_t size = 0;
  ReadStatus status = read_exactly(socket_, std::as_writable_bytes(std::span(&size, 1)), &deadline);
  Bytes frame;
  if (status == ReadStatus::Complete) {
    if (size > max_frame_bytes) {
      end("malformed frame");
      return std::nullopt;
    }
    frame.resize(size);
    status = read_exactly(socket_, frame, &deadline);
  }
  if (status == ReadStatus::Complete) return frame;
  end(status == ReadStatus::Closed ? "" : "time limit of " + std::to_string(timeout.count()) + " ms");
  return std::nullopt;
}

double Subprocess::processor_seconds() const {
  clockid_t clock{};
  timespec time{};
  if (!is_alive() || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void Subprocess::kill(const std::string& reason) {
  if (is_alive()) end(reason);
}

void Subprocess::end(const std::string& reason) {
  int status = 0;
  // A child that ended by itself gets up to 200 ms to be reaped with its own status.
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
  set_stop_signals(SIG_IGN);
  // This thread ends the process when its parent ends while the handler is running.
  std::thread([] {
    pollfd parent{STDIN_FILENO, POLLRDHUP, 0};
    while (::poll(&parent, 1, -1) <= 0 || (parent.revents & (POLLHUP | POLLRDHUP | POLLERR)) == 0) {
    }
    ::_exit(0);
  }).detach();
  for (;;) {
    std::uint64_t size = 0;
    const auto size_bytes = std::as_writable_bytes(std::span(&size, 1));
    if (read_exactly(STDIN_FILENO, size_bytes, nullptr) != ReadStatus::Complete) return;
    Bytes frame(size);
    if (read_exactly(STDIN_FILENO, frame, nullptr) != ReadStatus::Complete) return;
    const Bytes answer = encode_frame(handler(frame));
    for (ByteView rest = answer; !rest.empty();) {
      const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return;
      rest = rest.subspan(static_cast<std::size_t>(written));
    }
  }
}

const std::string& program_digest() {
  static const std::string digest = [] {
    std::string id;
    ::dl_iterate_phdr(add_build_id, &id);
    if (id.empty()) throw Error("/proc/self/exe", "has no build id: it was linked without --build-id");
    return id;
  }();
  return digest;
}

}  // namespace rulemill::runtime
