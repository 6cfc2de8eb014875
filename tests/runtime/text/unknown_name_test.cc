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

}  // namespace
}  // namespace rulemill::runtime
