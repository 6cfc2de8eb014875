#include "runtime/text/json.h"

#include <catch2/catch.hpp>

#include "tests/runtime/message.h"

namespace rulemill::runtime {
namespace {

TEST_CASE("deeply nested JSON is rejected with its location") {
  CHECK(contains(message_of([&] { parse_json("\n " + std::string(1'000'000, '['), "deep"); }),
                 "deep:2:102: is nested more"));
  CHECK(parse_json("[\"[[[[\", 1]", "text") == Json{"[[[[", 1});
}

}  // namespace
}  // namespace rulemill::runtime
