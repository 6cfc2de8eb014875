#include "runtime/process/terminal.h"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

namespace rulemill::runtime {
namespace {

TEST_CASE("a file is no terminal and has no colours", "[terminal]") {
  std::FILE* file = std::tmpfile();
  CHECK_FALSE(is_terminal(file));
  CHECK_FALSE(shows_colours(file));
  std::fclose(file);
}

TEST_CASE("a terminal has colours unless NO_COLOR or TERM forbids them", "[terminal]") {
  int leader = -1, follower = -1;
  REQUIRE(::openpty(&leader, &follower, nullptr, nullptr, nullptr) == 0);
  std::FILE* terminal = ::fdopen(follower, "w");
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  CHECK(is_terminal(terminal));
  CHECK(shows_colours(terminal));
  ::setenv("NO_COLOR", "", 1);
  CHECK(shows_colours(terminal));
  ::setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(shows_colours(terminal));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  CHECK_FALSE(shows_colours(terminal));
  std::fclose(terminal);
  ::close(leader);
}

}  // namespace
}  // namespace rulemill::runtime
