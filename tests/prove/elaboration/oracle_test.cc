#include "prove/elaboration/oracle.h"

#include <catch2/catch.hpp>

#include "prove/solver/z3_session.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// An oracle over bound indices i and j and sizes m and n.
struct OracleFixture {
  Atoms atoms;
  Poly i{atoms.fresh_bound()}, j{atoms.fresh_bound()}, m = atoms.size("m"), n = atoms.size("n");
  Oracle oracle{atoms, {Models::Values{}}};

  bool is_implied(const Guards& given, const Guard& goal) {
    return oracle.find_lemmas({"test", given, goal, {}}).has_value();
  }
  bool cancel(const check::IndicatorSum& indicators) {
    bool all = true;
    check::require_zero({"test", {}, {}, {}}, indicators, atoms,
                        [&](const check::Obligation& each) { all = all && oracle.find_lemmas(each); });
    return all;
  }
};

}  // namespace

TEST_CASE("a guard is implied by what is given, and not by less") {
  OracleFixture test;
  CHECK(test.is_implied({{false, test.n - 4}}, {false, test.n - 2}));
  CHECK_FALSE(test.is_implied({{false, test.n - 4}}, {false, test.n - 5}));
  CHECK_FALSE(test.is_implied({{false, test.n - 4}}, {false, test.i - 4}));
  CHECK(test.is_implied({{false, test.n - 4}, {true, test.i - test.n}}, {false, test.i - 4}));
  CHECK(test.oracle.queries() > 0);
}

TEST_CASE("guards on other sizes make no new question") {
  OracleFixture test;
  CHECK(test.is_implied({{false, test.n - 4}}, {false, test.n - 2}));
  CHECK_FALSE(test.is_implied({{false, test.n - 4}}, {true, test.n - test.i}));
  const std::uint64_t queries = test.oracle.queries();
  const Guards more = {{false, test.n - 4}, {false, test.m - 1 - test.j}};
  CHECK(test.is_implied(more, {false, test.n - 2}));
  CHECK_FALSE(test.is_implied(more, {true, test.i - test.n}));
  CHECK(test.oracle.queries() == queries);
}

TEST_CASE("sizes are positive, and so are their products") {
  OracleFixture test;
  CHECK(test.is_implied({}, {false, test.m * test.n - 1}));
  CHECK_FALSE(test.is_implied({}, {false, test.m * test.n - 2}));
}

TEST_CASE("a minimum is at most both operands, and one of them") {
  OracleFixture test;
  const Poly least = test.atoms.min(test.i, test.j);
  CHECK(test.is_implied({}, {false, test.i - least}));
  CHECK(test.is_implied({}, {false, test.j - least}));
  CHECK_FALSE(test.is_implied({}, {false, least - test.i}));
  CHECK(test.is_implied({{false, test.j - test.i}}, {true, least - test.i}));
}

TEST_CASE("a quotient has a unique value where its numerator stays in one interval") {
  OracleFixture test;
  const Poly half = test.atoms.floor_div(test.i, 2);
  CHECK(test.oracle.unique_value({{false, test.i - 6}, {false, 7 - test.i}}, half) == 3);
  CHECK(test.oracle.unique_value({{false, test.i - 6}, {false, 8 - test.i}}, half) == std::nullopt);
}

TEST_CASE("a quotient by a number is compared with what bounds its numerator, and times a size") {
  OracleFixture test;
  const Poly third = test.atoms.floor_div(test.i, 3);
  const Guard at_least{false, test.m * third - test.m * test.n};
  CHECK(test.is_implied({{false, test.i - test.n * Poly(3)}}, at_least));
  CHECK_FALSE(test.is_implied({{false, test.i + 1 - test.n * Poly(3)}}, at_least));
}

TEST_CASE("a quotient by a difference has its value only where that is positive") {
  OracleFixture test;
  const Poly quotient = test.atoms.floor_div(test.i, test.m - test.n);
  const Guards below = {{false, test.i}, {false, test.m - test.n - 1 - test.i}};
  CHECK(test.is_implied(below, {true, quotient}));
  CHECK_FALSE(test.is_implied({{false, test.i}}, {true, quotient}));
}

TEST_CASE("what is shown of quotients is confirmed by the script of the obligation") {
  OracleFixture test;
  for (const Poly& divisor : {test.n, test.m * test.n, test.n * test.n - test.n + 1, test.n * test.n + 1}) {
    const Poly quotient = test.atoms.floor_div(test.i, divisor);
    check::Obligation obligation{"test", {{false, test.i}, {false, divisor - 1 - test.i}}, Guard{true, quotient}, {}};
    const auto lemmas = test.oracle.find_lemmas(obligation);
    INFO(test.atoms.text(divisor));
    REQUIRE(lemmas);
    obligation.lemmas = *lemmas;
    CHECK(Z3Session().answer(check::smtlib(obligation, test.atoms)) == "unsat");
  }
}

TEST_CASE("indicators cancel if those that are subtracted partition the region") {
  OracleFixture test;
  const Guards whole = {{false, test.i}, {false, test.m + test.n - 1 - test.i}};
  const Guards first = {{false, test.i}, {false, test.m - 1 - test.i}};
  const Guards second = {{false, test.i - test.m}, {false, test.m + test.n - 1 - test.i}};
  CHECK(test.cancel({{{1, 1}, whole}, {{-1, 1}, whole}}));
  CHECK(test.cancel({{{1, 1}, whole}, {{-1, 1}, first}, {{-1, 1}, second}}));
  CHECK_FALSE(test.cancel({{{1, 1}, whole}, {{-1, 1}, first}}));
}
