#include "prove/normal_form/equality.h"

#include <catch2/catch.hpp>

#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

/// Sums over a variable x[n].
struct EqualityFixture : ProverFixture {
  Solver solver{symbols};
  IndexSupply supply{symbols};
  Equality equality{bank, solver, supply};
  algebra::TermId x = rule("rule test(x[n]) relu(x) => relu(x)").variables.at(0);
  Poly n{symbols.size("n")};

  EqualityFixture() { solver.start({}); }

  /// coefficient · Σ_{low ≤ b < high} x[b − low]
  Product sum_over(std::int64_t coefficient, const Poly& low, const Poly& high) {
    const Poly b(supply.next());
    Factor read;
    read.symbol = static_cast<std::uint32_t>(x);
    read.index = {b - low};
    return {{coefficient, 1}, {{false, b - low}, {false, high - 1 - b}}, {*b.atom()}, {read}};
  }
};

}  // namespace

TEST_CASE("sums that differ by a shift of the index cancel") {
  EqualityFixture test;
  CHECK(test.equality.is_zero({test.sum_over(1, 0, test.n), test.sum_over(-1, 3, test.n + 3)}));
}

TEST_CASE("sums over different ranges do not cancel") {
  EqualityFixture test;
  CHECK_FALSE(test.equality.is_zero({test.sum_over(1, 0, test.n), test.sum_over(-1, 0, test.n + 1)}));
  CHECK(test.equality.uncancelled_product() != "");
}

TEST_CASE("coefficients must sum to zero") {
  EqualityFixture test;
  const Product once = test.sum_over(1, 0, test.n), twice = test.sum_over(-2, 0, test.n);
  CHECK(test.equality.is_zero({once, once, twice}));
  CHECK_FALSE(test.equality.is_zero({once, twice}));
}
