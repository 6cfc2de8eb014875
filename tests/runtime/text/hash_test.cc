#include "runtime/text/hash.h"

#include <catch2/catch.hpp>

namespace rulemill::runtime {
namespace {

TEST_CASE("hashes are XXH3 and do not depend on how the bytes are split") {
  CHECK(to_hex(hash64(bytes_of(""))) == "2d06800538d394c2");
  CHECK(to_hex(hash128(bytes_of(""))) == "99aa06d3014798d86001c324468d497f");
  const std::string text(5000, 'r');
  Hasher parts;
  parts.add(bytes_of(text.substr(0, 1234)));
  parts.add(bytes_of(text.substr(1234)));
  CHECK(parts.digest64() == hash64(bytes_of(text)));
  CHECK(parts.digest128() == hash128(bytes_of(text)));
  Hasher one, two;
  one.add_text("a");
  one.add_text("bc");
  two.add_text("ab");
  two.add_text("c");
  CHECK(one.digest64() != two.digest64());
}

}  // namespace
}  // namespace rulemill::runtime
