// Detects that another rank died: it was killed, ran out of memory, or its node failed. The ranks are connected by a
// tree of sockets. If a connection ends without a goodbye message, this process exits with the code of a resumable run,
// and with it all ranks. MPI itself and some launchers would leave the other ranks waiting forever in a collective. A
// rank that is only slow or stopped is not considered dead.
#pragma once

#include <memory>

namespace rulemill::runtime {

class Communicator;

class FailureDetector {
 public:
  /// Collective. Connections that cannot be established are skipped: only the launcher can detect those failures.
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
