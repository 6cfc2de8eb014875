#include <catch2/catch.hpp>

#include "prove/solver/query.h"

using namespace rulemill;
using namespace rulemill::prove;

TEST_CASE("guards of the context are kept if they share a symbol with the query, directly or indirectly") {
  Symbols symbols;
  const Poly i(symbols.index("i")), n(symbols.size("n")), m(symbols.size("m"));
  const Guards context = {{false, n - 1 - i}, {false, m - 5}, {false, 7 - n}};
  const Query query = slice({"test", {{false, i}}, {}, {}}, context, symbols);
  CHECK(query.asserted == Guards{{false, i}, {false, n - 1 - i}, {false, 7 - n}});
}

TEST_CASE("guards that all indicators have in common are asserted") {
  Symbols symbols;
  const Poly i(symbols.index("i")), n(symbols.size("n"));
  const Guard common{false, n - 1 - i}, a{false, i}, b{false, i - 1};
  const Query query = slice({"test", {}, {{{1, 1}, {common, a}}, {{-1, 1}, {b, common}}}, {}}, {}, symbols);
  CHECK(query.asserted == Guards{common});
  REQUIRE(query.indicators.size() == 2);
  CHECK(query.indicators[0].second == Guards{a});
  CHECK(query.indicators[1].second == Guards{b});
}
