#include "runtime/mpi/mpi_session.h"

#define OMPI_SKIP_MPICXX 1  // only the C interface
#include <mpi.h>

#include <cstdlib>

#include "runtime/mpi/abandoned_segments.h"
#include "runtime/mpi/failure_detector.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

}  // namespace

bool has_mpi_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
    if (is_set(name)) return true;
  }
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (tasks != nullptr && is_set("SLURM_STEP_ID") && is_set("SLURM_PROCID") && std::atoi(tasks) > 1) {
    throw UsageError("srun", "started " + std::string(tasks) + " tasks without an MPI plug-in; use srun --mpi=pmix");
  }
  return false;
}

MpiSession::MpiSession() : world_(Communicator::self()) {
  if (!has_mpi_launcher()) return;
  remove_abandoned_segments();  // before MPI needs the space
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error("MPI_Init_thread", "cannot start MPI");
  started_ = true;
  world_ = Communicator::world();
  if (world_.size() > 1) failure_detector_ = std::make_unique<FailureDetector>(world_);
}

MpiSession::~MpiSession() {
  // Ranks also wait for each other in MPI_Finalize, so that the failure detector must outlive it.
  if (started_) MPI_Finalize();
}

void MpiSession::abort(int exit_code) const {
  if (!started_ || world_.size() == 1) return;
  failure_detector_->abort_peers(exit_code);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace rulemill::runtime
