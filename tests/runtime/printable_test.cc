#include "runtime/printable.h"

#include <catch2/catch.hpp>

#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("what is shown of bad input is one short line") {
  CHECK(printable("a\tb\x1b[31m\x7f\u0085ä") == "a?b?[31m???ä");
  const std::string cut = printable(std::string(100'000, 'x') + "end", 90);
  CHECK(cut.size() < 100);
  CHECK(contains(cut, "x ... x"));
  CHECK(contains(cut, "end"));
}

}  // namespace
}  // namespace rulemill::runtime
