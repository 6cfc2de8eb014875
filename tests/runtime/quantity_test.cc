#include "runtime/quantity.h"

#include <catch2/catch.hpp>

namespace rulemill::runtime {
namespace {

TEST_CASE("quantities read as people write them") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(18'112'649) == "18,112,649");
  CHECK(with_commas(368'001) == "368,001");
  CHECK(in_bytes(512) == "512 B");
  CHECK(in_bytes(1'300'000'000) == "1.3 GB");
  CHECK(in_bytes(999'999) == "1.0 MB");
  CHECK(in_seconds(0.00041) == "0.41 ms");
  CHECK(in_seconds(2.414) == "2.41 s");
  CHECK(in_seconds(200) == "3 min 20 s");
}

}  // namespace
}  // namespace rulemill::runtime
