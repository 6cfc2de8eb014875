#include "runtime/text/unknown_name.h"

#include <catch2/catch.hpp>

namespace rulemill::runtime {
namespace {

const std::vector<std::string> known = {"conv2d", "matmul", "add"};

TEST_CASE("an unknown name is answered by the known names that are close", "[unknown_name]") {
  CHECK(unknown_name("operator", "conv2", known) == "unknown operator 'conv2'; did you mean 'conv2d'?");
  CHECK(unknown_name("operator", "mat", known) == "unknown operator 'mat'; did you mean 'matmul'?");
  CHECK(unknown_name("key", "ad", {"add", "and"}) == "unknown key 'ad'; did you mean 'add' or 'and'?");
}

TEST_CASE("an unknown name that is close to none is answered by all known names", "[unknown_name]") {
  CHECK(unknown_name("operator", "softmax", known) == "unknown operator 'softmax'; known are conv2d, matmul, add");
}

TEST_CASE("at most three names are suggested, the closest first", "[unknown_name]") {
  CHECK(unknown_name("key", "abcdef", {"abcxyf", "abcdxf", "abcdeff", "abcdeg", "abcdef1"}) ==
        "unknown key 'abcdef'; did you mean 'abcdxf' or 'abcdeff' or 'abcdeg'?");
  CHECK(unknown_name("device", "h101", {"t4", "h10", "v100", "h100"}) ==
        "unknown device 'h101'; did you mean 'h10' or 'h100'?");
}

TEST_CASE("many names are counted where none is close", "[unknown_name]") {
  const std::vector<std::string> many(100, "sum");
  CHECK(unknown_name("operator", "softmax", many) == "unknown operator 'softmax'; none of the 100 known ones is close");
  CHECK(unknown_name("operator", "softmax", many, "`list`") ==
        "unknown operator 'softmax'; none of the 100 known ones is close, see `list`");
}

}  // namespace
}  // namespace rulemill::runtime
