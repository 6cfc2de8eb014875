#include "runtime/text/json.h"

#include <catch2/catch.hpp>

namespace rulemill::runtime {
namespace {

TEST_CASE("a number that does not fit is rejected, not wrapped") {
  CHECK(to_integer<std::uint8_t>(Json(255)) == 255);
  CHECK(to_integer<std::int64_t>(Json(-3)) == -3);
  CHECK(to_integers<std::uint32_t>(runtime::parse_json("[0, 4294967295]")) ==
        std::vector<std::uint32_t>{0, 4294967295u});
  for (const char* text : {"256", "-1", "1.5", "1e26", "18446744073709551616", "\"7\"", "[7]", "null"}) {
    INFO(text);
    CHECK_THROWS_AS(to_integer<std::uint8_t>(runtime::parse_json(text)), Json::exception);
  }
  CHECK_THROWS_AS(to_integers<std::uint8_t>(runtime::parse_json("[1, 256]")), Json::exception);
  CHECK_THROWS_AS(to_integers<std::uint8_t>(runtime::parse_json("7")), Json::exception);
}

}  // namespace
}  // namespace rulemill::runtime
