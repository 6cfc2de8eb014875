#include "runtime/process/subprocess.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>

#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;

TEST_CASE("a child process receives and returns frames of any size") {
  Subprocess child({"/bin/cat"});
  CHECK(child.is_alive());
  CHECK(child.send(bytes_of("a question")));
  const auto answer = child.receive(milliseconds(5000));
  REQUIRE(answer.has_value());
  CHECK(text_of(*answer) == "a question");
  CHECK(child.send({}));
  CHECK(child.receive(milliseconds(5000))->empty());
}

TEST_CASE("a child that does not answer is killed at its timeout") {
  Subprocess child({"/bin/sleep", "100"});
  const Stopwatch watch;
  CHECK_FALSE(child.receive(milliseconds(100)).has_value());
  CHECK(watch.seconds() < 50);  // the child would sleep for 100 s
  CHECK_FALSE(child.is_alive());
  CHECK(child.end_reason() == "time limit of 100 ms");
  CHECK_FALSE(child.send(bytes_of("x")));
}

TEST_CASE("a child's processor time is not wall-clock time") {
  Subprocess busy({"/bin/sh", "-c", "while :; do :; done"}), idle({"/bin/sleep", "100"});
  const Stopwatch watch;
  while (busy.processor_seconds() < 0.2 && watch.seconds() < 120)
    CHECK_FALSE(busy.is_ready(std::chrono::microseconds(10'000)));
  CHECK(busy.processor_seconds() >= 0.2);
  CHECK(idle.processor_seconds() < 0.1);
  idle.kill("enough");
  CHECK(idle.processor_seconds() == 0);
}

TEST_CASE("the end reason is the exit code or the signal") {
  Subprocess failing({"/bin/sh", "-c", "exit 7"});
  CHECK_FALSE(failing.receive(milliseconds(5000)).has_value());
  CHECK(failing.end_reason() == "exit code 7");
  Subprocess crashing({"/bin/sh", "-c", "kill -11 $$"});
  CHECK_FALSE(crashing.receive(milliseconds(5000)).has_value());
  CHECK(crashing.end_reason() == "signal 11");
  CHECK_THROWS_AS(Subprocess({"/nowhere/absent"}), Error);
}

TEST_CASE("a child cannot allocate more memory than its limit") {
  // The shell doubles a string until its allocation fails.
  Subprocess child({"/bin/sh", "-c", "sleep 0.2; x=1234567890123456; while :; do x=$x$x; done 2>/dev/null"},
                   std::uint64_t{64} << 20);
  CHECK_FALSE(child.receive(milliseconds(20'000)).has_value());
  CHECK(child.end_reason().find("time limit") == std::string::npos);
}

TEST_CASE("a child does not inherit the launcher's variables") {
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  Subprocess child({"/bin/sh", "-c", "exit $((${OMPI_COMM_WORLD_SIZE:-40}))"});
  unsetenv("OMPI_COMM_WORLD_SIZE");
  CHECK_FALSE(child.receive(milliseconds(5000)).has_value());
  CHECK(child.end_reason() == "exit code 40");
}

}  // namespace
}  // namespace rulemill::runtime
