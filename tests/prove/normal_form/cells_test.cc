#include "prove/normal_form/cells.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/prove/rule_files.h"

using namespace rulemill;
using namespace rulemill::prove;

namespace {

struct CellsFixture : ProverFixture {
  Solver solver{symbols};
  Atom b = symbols.index("b");
  Poly i{symbols.index("i")}, n{symbols.size("n")};

  CellsFixture() { solver.start({}); }

  std::uint32_t function(const std::string& name) const {
    const auto functions = library.functions();
    const auto found = std::ranges::find(functions, name, &algebra::Function::name);
    REQUIRE(found != functions.end());
    return static_cast<std::uint32_t>(found - functions.begin());
  }
};

Product element(const Poly& index, Guards guards = {}) {
  Factor factor;
  factor.index = {index};
  return {{1, 1}, std::move(guards), {}, {std::move(factor)}};
}

/// A product whose coefficient is 1 + the number of products of the first argument.
Sum count(const std::vector<Sum>& arguments) {
  return {Product{{1 + static_cast<std::int64_t>(arguments[0].size()), 1}, {}, {}, {}}};
}

}  // namespace

TEST_CASE("an outer guard splits the arguments into two cells") {
  CellsFixture test;
  const Guard guard{false, test.i};
  const Sum result = split_into_cells({{element(test.i, {guard})}}, {}, {}, test.solver, count);
  REQUIRE(result.size() == 2);
  CHECK(result[0].guards == Guards{guard});
  CHECK(result[0].coefficient == Rational{2, 1});
  CHECK(result[1].guards == Guards{{false, -test.i - 1}});
  CHECK(result[1].coefficient == Rational{1, 1});  // the argument is 0 there
}

TEST_CASE("guards that are known, or on inner indices, do not split") {
  CellsFixture test;
  const Guard known{false, test.i}, inner{false, Poly(test.b)};
  const Sum decided = split_into_cells({{element(test.i, {known})}}, {}, {known}, test.solver, count);
  REQUIRE(decided.size() == 1);
  CHECK(decided[0].guards.empty());
  bool kept = false;
  split_into_cells({{element(test.i, {inner})}}, {test.b}, {}, test.solver, [&](const std::vector<Sum>& arguments) {
    kept = arguments[0].size() == 1 && arguments[0][0].guards == Guards{inner};
    return Sum();
  });
  CHECK(kept);
}

TEST_CASE("functions are simplified by their laws") {
  CellsFixture test;
  const auto apply = [&](const std::string& name, const Sum& argument) {
    return apply_function(test.function(name), {argument}, {}, test.bank, test.solver);
  };
  CHECK(apply("relu", {}).empty());
  CHECK(apply("sigmoid", {}).size() == 1);  // sigmoid(0) = 1/2
  const Sum twice = apply("relu", apply("relu", {element(test.i)}));
  REQUIRE(twice.size() == 1);
  REQUIRE(twice[0].factors.size() == 1);
  CHECK(twice[0].factors[0].kind == Factor::Kind::Apply);
  CHECK(twice[0].factors[0].arguments.at(0).at(0).factors.at(0).kind == Factor::Kind::Read);
}

TEST_CASE("a maximum of a constant body over a nonempty range is the body") {
  CellsFixture test;
  const Guards range = {{false, Poly(test.b)}, {false, test.n - 1 - Poly(test.b)}};
  const Sum constant = make_maximum({test.b}, range, {element(test.i)}, {}, test.solver);
  REQUIRE(constant.size() == 1);
  CHECK(constant[0].factors.at(0).kind == Factor::Kind::Read);
  const Sum varying = make_maximum({test.b}, range, {element(Poly(test.b))}, {}, test.solver);
  REQUIRE(varying.size() == 1);
  CHECK(varying[0].factors.at(0).kind == Factor::Kind::Max);
  CHECK(varying[0].factors[0].bound == std::vector<Atom>{test.b});
}

TEST_CASE("a maximum without bound indices is its body where the guards hold") {
  CellsFixture test;
  const Guard guard{false, test.i};
  const Sum result = make_maximum({}, {guard}, {element(test.i)}, {}, test.solver);
  REQUIRE(result.size() == 1);
  CHECK(result[0].guards == Guards{guard});
  CHECK(make_maximum({test.b}, {{false, Poly(-1)}}, {element(test.i)}, {}, test.solver).empty());
}
