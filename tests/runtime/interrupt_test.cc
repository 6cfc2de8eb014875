#include "runtime/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "runtime/error.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("a signal is noticed at the next poll and ends the run as resumable") {
  clear_interrupt();
  install_interrupt_handlers();
  CHECK_NOTHROW(throw_if_interrupted("here"));
  ::kill(::getpid(), SIGUSR1);
  CHECK(interrupted());
  try {
    throw_if_interrupted("stage join");
    FAIL("not interrupted");
  } catch (const Interrupted& error) {
    CHECK(error.exit_code() == 4);
    CHECK(contains(error.what(), "stage join: stopped by signal 10"));
  }
  clear_interrupt();
}

}  // namespace
}  // namespace rulemill::runtime
