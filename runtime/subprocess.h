// A helper process that speaks in frames over its stdin and stdout: for solvers that may hang, leak or crash. It is
// limited in memory from its first instruction, killed when it does not answer in time, and dies with us.
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

#include "runtime/bytes.h"

namespace rulemill::runtime {

/// This program's own binary, to be started again with a hidden subcommand.
std::filesystem::path own_binary();

/// The first folder of $PATH that has this program; empty if none has.
std::filesystem::path find_program(const std::string& name);

class Subprocess {
 public:
  /// Starts command[0] with the rest as arguments; its stdin and stdout are ours, its stderr is shared. MPI's and
  /// Slurm's variables are left out of its environment. memory_bytes 0: no limit. It is killed when the calling thread
  /// ends, however that comes about. Throws Error if it cannot be started.
  explicit Subprocess(const std::vector<std::string>& command, std::uint64_t memory_bytes = 0);
  /// Kills it.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  /// False if it is gone.
  bool send(ByteView frame);
  /// Waits for the beginning of a frame, or for its end. False: neither has come.
  bool ready(std::chrono::microseconds patience) const;
  /// The same for several: waits until one of them is ready.
  static void wait_for_any(std::span<const Subprocess* const> processes, std::chrono::microseconds patience);
  /// The next frame; nothing if the time is over or the process is gone, after which it is dead for sure.
  std::optional<Bytes> receive(std::chrono::milliseconds timeout);
  bool alive() const { return pid_ > 0; }
  /// Processor time that it has had so far, of all its threads; 0 if it is gone.
  double processor_seconds() const;
  /// Why it ended: "time limit of 2000 ms", "signal 9", "exit code 1"; empty while it lives.
  const std::string& end_reason() const { return end_reason_; }
  void kill(const std::string& reason);

 private:
  /// Makes sure that it is dead; an empty reason asks how it ended.
  void end(const std::string& reason);
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string end_reason_;
};

/// The helper's side: answers frames from stdin on stdout until stdin ends. Ends with its parent. What else the handler
/// prints must go to stderr.
void serve_frames(const std::function<Bytes(ByteView)>& handler);

}  // namespace rulemill::runtime
