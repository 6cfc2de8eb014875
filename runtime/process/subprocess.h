// A child process that exchanges frames over its stdin and stdout, for solvers that may hang, leak or crash. Its memory
// is limited from its first instruction. It is killed at a timeout and when its parent ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/text/bytes.h"

namespace rulemill::runtime {

/// Returns the path of the running executable, which is started again with a hidden subcommand.
std::filesystem::path current_executable();

/// Returns the path of the program in the first folder of $PATH that has it; empty if none has.
std::filesystem::path find_program(const std::string& name);

class Subprocess {
 public:
  /// Starts command[0] with the rest as arguments; stderr is inherited. MPI's and Slurm's variables are removed from
  /// its environment. memory_bytes 0: no limit. The child is killed when the calling thread ends for any reason. Throws
  /// Error if it cannot be started.
  explicit Subprocess(const std::vector<std::string>& command, std::uint64_t memory_bytes = 0);
  /// Kills the child.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  /// Returns false if the child has ended.
  bool send(ByteView frame);
  /// Waits for the beginning of a frame or for the end of the child. Returns false at the timeout.
  bool is_ready(std::chrono::microseconds timeout) const;
  /// Waits until one of the processes is ready, or for the timeout.
  static void wait_for_any(std::span<const Subprocess* const> processes, std::chrono::microseconds timeout);
  /// Returns the next frame; nothing if the timeout is over or the child has ended. Then it has been killed.
  std::optional<Bytes> receive(std::chrono::milliseconds timeout);
  bool is_alive() const { return pid_ > 0; }
  /// Returns the processor time of all threads of the child; 0 after its end.
  double processor_seconds() const;
  /// "time limit of 2000 ms", "signal 9", "exit code 1"; empty while the child is alive.
  const std::string& end_reason() const { return end_reason_; }
  void kill(const std::string& reason);

 private:
  /// Kills and reaps the child. With an empty reason, the reason becomes its exit status.
  void end(const std::string& reason);
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string end_reason_;
};

/// The child's side: answers each frame from stdin on stdout until stdin ends. Exits when the parent ends. The handler
/// must not print to stdout.
void serve_frames(const std::function<Bytes(ByteView)>& handler);

/// This program's build id, which the linker computes from its content; stripped and packed it stays the same. Caches
/// include it, so that results of other builds are not reused.
const std::string& program_digest();

}  // namespace rulemill::runtime
