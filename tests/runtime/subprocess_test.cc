#include "runtime/subprocess.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>

#include "runtime/error.h"

namespace rulemill::runtime {
namespace {

using std::chrono::milliseconds;

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
  CHECK(std::chrono::steady_clock::now() - start < milliseconds(50'000));  // it would sleep for 100 s
  CHECK_FALSE(helper.alive());
  CHECK(helper.end_reason() == "time limit of 100 ms");
  CHECK_FALSE(helper.send(bytes_of("x")));
}

TEST_CASE("a helper's processor time is its own, not the clock's") {
  Subprocess busy({"/bin/sh", "-c", "while :; do :; done"}), idle({"/bin/sleep", "100"});
  const auto start = std::chrono::steady_clock::now();
  while (busy.processor_seconds() < 0.2 && std::chrono::steady_clock::now() - start < std::chrono::minutes(2))
    CHECK_FALSE(busy.ready(std::chrono::microseconds(10'000)));
  CHECK(busy.processor_seconds() >= 0.2);
  CHECK(idle.processor_seconds() < 0.1);
  idle.kill("enough");
  CHECK(idle.processor_seconds() == 0);
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

}  // namespace
}  // namespace rulemill::runtime
