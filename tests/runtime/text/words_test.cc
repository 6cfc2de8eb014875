#include "runtime/text/words.h"

#include <catch2/catch.hpp>

using namespace rulemill::runtime;

TEST_CASE("words are in the order of the text, a set of words is not") {
  CHECK(words("Sub Add  Mul") == std::vector<std::string>{"Sub", "Add", "Mul"});
  CHECK(words("").empty());
  CHECK(word_set("b a b") == std::set<std::string>{"a", "b"});
}
