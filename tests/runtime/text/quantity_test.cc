#include "runtime/text/quantity.h"

#include <catch2/catch.hpp>

namespace rulemill::runtime {
namespace {

TEST_CASE("counts have commas, bytes binary units, and seconds the unit that suits them") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(18'112'649) == "18,112,649");
  CHECK(format_count(368'001) == "368,001");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1024) == "1.0 KiB");
  CHECK(format_bytes(1'300'000'000) == "1.2 GiB");
  CHECK(format_bytes((1 << 20) - 1) == "1.0 MiB");
  CHECK(format_bytes(198'144) == "193.5 KiB");
  CHECK(format_seconds(0.00041) == "410.0 us");
  CHECK(format_seconds(0.00241) == "2.41 ms");
  CHECK(format_seconds(2.414) == "2.41 s");
  CHECK(format_seconds(200) == "3 min 20 s");
}

}  // namespace
}  // namespace rulemill::runtime
