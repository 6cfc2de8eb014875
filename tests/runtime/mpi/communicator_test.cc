// A communicator of one process. Several ranks are tested by tests/runtime/mpi/ranks_check.cc.
#include "runtime/mpi/communicator.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "runtime/mpi/mpi_session.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("without a launcher, a session has one rank and does not start MPI") {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"})
    unsetenv(name);
  const MpiSession session;
  const Communicator& world = session.world();
  CHECK_FALSE(session.started());
  CHECK(world.size() == 1);
  CHECK(world.is_root());
  world.barrier();
  Bytes bytes = copy_bytes(bytes_of("abc"));
  world.broadcast(bytes);
  CHECK(text_of(bytes) == "abc");
  CHECK(world.gather(bytes).size() == 1);
  CHECK(text_of(world.all_gather(bytes)[0]) == "abc");
  CHECK(text_of(world.all_to_all({bytes})[0]) == "abc");
  CHECK(world.sum(std::uint64_t{5}) == 5);
  CHECK(world.max(2.5) == 2.5);
  CHECK_FALSE(world.poll().has_value());
  CHECK_THROWS_AS(world.send(0, 1, bytes), Error);
}

TEST_CASE("several srun tasks without an MPI plug-in are rejected") {
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("SLURM_PROCID", "1", 1);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  CHECK_THROWS_AS(has_mpi_launcher(), UsageError);
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  CHECK_FALSE(has_mpi_launcher());
  for (const char* name : {"SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) unsetenv(name);
}

}  // namespace
}  // namespace rulemill::runtime
