#include "runtime/text/printable.h"

#include <catch2/catch.hpp>

#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("printable text has one line, no control characters and a bounded length") {
  CHECK(make_printable("a\tb\x1b[31m\x7f\u0085ä") == "a?b?[31m???ä");
  const std::string cut = make_printable(std::string(100'000, 'x') + "end", 90);
  CHECK(cut.size() < 100);
  CHECK(contains(cut, "x ... x"));
  CHECK(contains(cut, "end"));
}

TEST_CASE("the display width counts characters, not bytes") {
  CHECK(display_width("") == 0);
  CHECK(display_width("1×64 → ä") == 8);
}

}  // namespace
}  // namespace rulemill::runtime
