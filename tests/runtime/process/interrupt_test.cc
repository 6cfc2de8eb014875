#include "runtime/process/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "runtime/text/error.h"
#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("a signal sets the flag, and the run ends with the exit code of a resumable one") {
  clear_interrupt();
  install_interrupt_handlers();
  CHECK_NOTHROW(throw_if_interrupted("here"));
  ::kill(::getpid(), SIGUSR1);
  CHECK(is_interrupted());
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
