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

TEST_CASE("the elements of a list are visited one after the other") {
  std::vector<Json> seen;
  const auto visit = [&](const Json& element) { seen.push_back(element); };
  for_each_element(R"([1, "a", {"b": [2, {"c": 3}]}, [], [4, [5]]])", "list", visit);
  REQUIRE(seen.size() == 5);
  CHECK(seen[0] == 1);
  CHECK(seen[1] == "a");
  CHECK(seen[2] == Json{{"b", {2, {{"c", 3}}}}});
  CHECK(seen[3] == Json::array());
  CHECK(seen[4] == Json::array({4, {5}}));
  seen.clear();
  for_each_element("[]", "list", visit);
  CHECK(seen.empty());
  CHECK(contains(message_of([&] { for_each_element(R"({"a": [1, 2]})", "list", visit); }), "list: expected a list"));
  CHECK(contains(message_of([&] { for_each_element("[1,\n 2,,", "list", visit); }), "list:2:4: is not JSON here"));
  CHECK_THROWS_AS(for_each_element("[{}]", "list", [](const Json& element) { element.at("a"); }), Json::exception);
}

}  // namespace
}  // namespace rulemill::runtime
