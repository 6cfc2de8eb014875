#include "algebra/exchange/fixed_forms.h"

#include <catch2/catch.hpp>

#include "algebra/terms/rule_text.h"

namespace rulemill::algebra {
namespace {

/// Returns the number of rules with small numbers that an identity of a convolution with this stride and padding has.
std::size_t count_forms(const std::string& shapes, const std::string& numbers) {
  Library library = Library::load(RULEMILL_SOURCE_DIR "/data/operators");
  TermBank bank(library);
  Symbols symbols;
  const std::string product = "conv(x, k; " + numbers + ")";
  const std::string text = "rule r(" + shapes + ")\n  relu(" + product + ") => relu(" + product + ")\n";
  return fixed_parameters(parse_rules(text, "test", library, bank, symbols).at(0), library, bank, symbols).size();
}

TEST_CASE("symbolic parameters get small numbers, those of a list the same one if there are many") {
  const std::string line = "x[n, c, l], k[f, c, r]", solid = "x[n, c, d, h, w], k[f, c, p, q, r]";
  CHECK(count_forms(line, "stride=[s], dilation=[1], front=[0], back=[0]") == 8);
  CHECK(count_forms(line, "stride=[s], dilation=[1], front=[f1 - 1], back=[b1 - 1]") == 27);
  CHECK(count_forms(solid, "stride=[s, t, u], dilation=[v, y, z], front=[0, 0, 0], back=[0, 0, 0]") == 9);
}

}  // namespace
}  // namespace rulemill::algebra
