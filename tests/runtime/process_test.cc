// Processes and what they show: one process as a communicator, helper processes, progress, logging, the machine.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>

#include "runtime/communicator.h"
#include "runtime/error.h"
#include "runtime/log.h"
#include "runtime/machine.h"
#include "runtime/progress.h"
#include "runtime/quantity.h"
#include "runtime/subprocess.h"
#include "tests/runtime/scratch_folder.h"

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;

TEST_CASE("without a launcher a session is one process and MPI is not started") {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"})
    unsetenv(name);
  const auto start = std::chrono::steady_clock::now();
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
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(100));
}

TEST_CASE("several srun tasks that do not know of each other are refused") {
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("SLURM_PROCID", "1", 1);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  CHECK_THROWS_AS(mpi_launcher_present(), UsageError);
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  CHECK_FALSE(mpi_launcher_present());
  for (const char* name : {"SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) unsetenv(name);
}

TEST_CASE("a helper process echoes frames of any size") {
  Subprocess helper({"/bin/cat"});
  CHECK(helper.alive());
  CHECK(helper.send(bytes_of("a question")));
  const auto answer = helper.receive(milliseconds(5000));
  REQUIRE(answer.has_value());
  CHECK(text_of(*answer) == "a question");
  CHECK(helper.send({}));
  CHECK(helper.receive(milliseconds(5000))->empty());
}

TEST_CASE("a helper that does not answer is killed at its time limit") {
  Subprocess helper({"/bin/sleep", "100"});
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(helper.receive(milliseconds(100)).has_value());
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(3000));
  CHECK_FALSE(helper.alive());
  CHECK(helper.end_reason() == "time limit of 100 ms");
  CHECK_FALSE(helper.send(bytes_of("x")));
}

TEST_CASE("a helper that ends says how") {
  Subprocess failing({"/bin/sh", "-c", "exit 7"});
  CHECK_FALSE(failing.receive(milliseconds(5000)).has_value());
  CHECK(failing.end_reason() == "exit code 7");
  Subprocess crashing({"/bin/sh", "-c", "kill -11 $$"});
  CHECK_FALSE(crashing.receive(milliseconds(5000)).has_value());
  CHECK(crashing.end_reason() == "signal 11");
  CHECK_THROWS_AS(Subprocess({"/nowhere/absent"}), Error);
}

TEST_CASE("a helper cannot take more memory than its limit") {
  // The shell doubles a string until its allocation fails.
  Subprocess helper({"/bin/sh", "-c", "sleep 0.2; x=1234567890123456; while :; do x=$x$x; done 2>/dev/null"},
                    std::uint64_t{64} << 20);
  CHECK_FALSE(helper.receive(milliseconds(20'000)).has_value());
  CHECK(helper.end_reason().find("time limit") == std::string::npos);
}

TEST_CASE("a helper does not see the launcher's variables") {
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  Subprocess helper({"/bin/sh", "-c", "exit $((${OMPI_COMM_WORLD_SIZE:-40}))"});
  unsetenv("OMPI_COMM_WORLD_SIZE");
  CHECK_FALSE(helper.receive(milliseconds(5000)).has_value());
  CHECK(helper.end_reason() == "exit code 40");
}

TEST_CASE("progress is silent when off or quickly done, and a line when shown") {
  const ScratchFolder folder;
  std::FILE* file = std::fopen((folder / "log").c_str(), "w+");
  REQUIRE(file != nullptr);
  {
    Progress off(ProgressMode::Off, "join", 10, file);
    off.advance(10);
    Progress automatic(ProgressMode::Auto, "join", 10, file);
    automatic.advance(10);
  }
  CHECK(std::ftell(file) == 0);
  {
    Progress rewriting(ProgressMode::Rewrite, "prove", 2000, file);
    rewriting.note("3 refuted");
    usleep(250'000);
    rewriting.advance(1000);
  }
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  CHECK(text.find("prove  1,000 of 2,000 (50%), 0.2") != std::string::npos);
  CHECK(text.find(" left, 3 refuted\n") != std::string::npos);
  CHECK(text.back() == '\n');
}

TEST_CASE("quantities read as people write them") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(18'112'649) == "18,112,649");
  CHECK(with_commas(368'001) == "368,001");
  CHECK(in_bytes(512) == "512 B");
  CHECK(in_bytes(1'300'000'000) == "1.3 GB");
  CHECK(in_bytes(999'999) == "1.0 MB");
  CHECK(in_seconds(0.00041) == "0.41 ms");
  CHECK(in_seconds(2.414) == "2.41 s");
  CHECK(in_seconds(200) == "3 min 20 s");
}

TEST_CASE("unknown words for progress and logging are usage errors") {
  CHECK(parse_progress_mode("plain") == ProgressMode::Plain);
  CHECK_THROWS_AS(parse_progress_mode("loud"), UsageError);
  CHECK_THROWS_AS(set_up_log("verbose"), UsageError);
  CHECK_NOTHROW(set_up_log("warn", 1));
}

TEST_CASE("the machine is described") {
  const Machine machine = describe_machine();
  CHECK(machine.cores >= 1);
  CHECK(machine.cores <= machine.cores_online);
  CHECK(machine.memory_bytes > (std::uint64_t{1} << 20));
  CHECK_FALSE(machine.host.empty());
  CHECK(peak_memory_bytes() > (std::uint64_t{1} << 20));
}

}  // namespace
}  // namespace rulemill::runtime
