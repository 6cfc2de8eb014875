// The session that starts and ends MPI. Without a launcher (mpirun, srun), MPI is never started and there is one rank.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/mpi/communicator.h"

namespace rulemill::runtime {

class FailureDetector;

/// Removes this user's files of Open MPI's shared memory, which stay behind when mpirun is killed: those in the folder
/// that no process of this user has open or mapped, and that are older than ten minutes: ranks that this process cannot
/// see, as in another container, have opened theirs by then.
void remove_abandoned_segments(const std::filesystem::path& folder = "/dev/shm");

/// Whether mpirun or srun started this process as one of several, according to the environment. Throws UsageError if
/// srun started several tasks without an MPI plug-in, because these could not communicate.
bool has_mpi_launcher();

/// Starts MPI if there is a launcher, and ends it when destroyed. Construct one at the beginning of main. If a rank
/// dies during the session, the other ranks exit.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  const Communicator& world() const { return world_; }
  bool started() const { return started_; }
  /// Ends all ranks if there are several. With a single rank, returns: the caller exits.
  void abort(int exit_code) const;

 private:
  bool started_ = false;
  Communicator world_;
  std::unique_ptr<FailureDetector> failure_detector_;
};

}  // namespace rulemill::runtime
