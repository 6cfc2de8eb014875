#include "runtime/mpi/mpi_session.h"

#define OMPI_SKIP_MPICXX 1  // only the C interface
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "runtime/mpi/failure_detector.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> name_prefixes{"vader_segment.", "sm_segment."};  // of Open MPI 4 and 5
constexpr std::time_t min_age = 600;                                                       // seconds

bool is_old_segment(const fs::path& file) {
  const std::string name = file.filename().string();
  struct stat found {};
  return std::ranges::any_of(name_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }) &&
         ::lstat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid() &&
         std::time(nullptr) - found.st_mtime >= min_age;
}

/// The files that the processes of this user have mapped, as /proc lists them.
std::string mapped_files() {
  std::string result;
  std::error_code ignored;
  for (fs::directory_iterator at("/proc", ignored), end; at != end; at.increment(ignored)) {
    try {
      std::ifstream maps(at->path() / "maps");
      result.append(std::istreambuf_iterator<char>(maps), {});
    } catch (const std::ios_base::failure&) {  // the process has ended since it was listed
    }
  }
  return result;
}

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

}  // namespace

void remove_abandoned_segments(const fs::path& folder) {
  std::vector<fs::path> old;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
    if (is_old_segment(at->path())) old.push_back(at->path());
  }
  if (old.empty()) return;
  const std::string mapped = mapped_files();
  for (const fs::path& file : old) {
    if (mapped.find(file.string()) == std::string::npos) fs::remove(file, ignored);
  }
}

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
