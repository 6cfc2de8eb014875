// Detects that another rank died or hangs: it was killed or stopped, ran out of memory, or its node failed. The ranks
// are connected by a tree of sockets, over which a thread of each sends heartbeats. If a connection ends without a
// goodbye message, or no heartbeat arrives for RULEMILL_RANK_TIMEOUT seconds (default 60), this process exits with the
// code of a resumable run, and with it all ranks. MPI itself and some launchers would leave the other ranks waiting
// forever in a collective. A rank that is only slow is not lost.
#pragma once

#include <memory>

namespace rulemill::runtime {

class Communicator;

class FailureDetector {
 public:
  /// Collective. Connections that cannot be established are skipped: only the launcher can detect those failures.
  /// Throws UsageError if RULEMILL_RANK_TIMEOUT is not a number of seconds.
  explicit FailureDetector(const Communicator& world);
  /// Sends goodbye messages.
  ~FailureDetector();
  FailureDetector(const FailureDetector&) = delete;
  FailureDetector& operator=(const FailureDetector&) = delete;

  /// Makes the other ranks exit with this code, without a message.
  void abort_peers(int exit_code);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rulemill::runtime
