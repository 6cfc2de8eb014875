// Definitions with packs in expressions, lists of numbers, axes and broadcast inputs, compared with values by hand.
#include <catch2/catch.hpp>
#include <filesystem>

#include "algebra/execution/reference.h"
#include "algebra/library/library.h"
#include "runtime/text/error.h"
#include "tests/shipped_operators.h"

using namespace rulemill;
using namespace rulemill::algebra;

namespace {

using List = std::vector<std::int64_t>;

struct OperatorFixture {
  Library library = shipped_operators();

  Tensor run(const std::string& name, const Parameters& parameters, const std::vector<Tensor>& inputs,
             const List& sizes = {}) {
    std::vector<std::uint32_t> ranks;
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) {
      ranks.push_back(static_cast<std::uint32_t>(input.shape.size()));
      pointers.push_back(&input);
    }
    if (library.has_explicit_rank(name)) ranks.push_back(static_cast<std::uint32_t>(sizes.size()));
    const auto outputs =
        run_reference(library.functions(), library.instantiate(name, parameters, ranks), pointers, sizes);
    REQUIRE(outputs);
    return outputs->at(0);
  }

  void check(const Tensor& actual, const List& shape, const std::vector<double>& values) {
    CHECK(actual.shape == shape);
    CHECK(actual.values == values);
  }
};

const Tensor two_by_three{{2, 3}, {1, 2, 3, 4, 5, 6}};

}  // namespace

TEST_CASE("a reshape keeps the order of elements at any ranks") {
  OperatorFixture fixture;
  fixture.check(fixture.run("reshape", {}, {two_by_three}, {3, 2}), {3, 2}, {1, 2, 3, 4, 5, 6});
  fixture.check(fixture.run("reshape", {}, {two_by_three}, {1, 6, 1}), {1, 6, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor cube{{2, 1, 3}, {1, 2, 3, 4, 5, 6}};
  fixture.check(fixture.run("squeeze", {{"axes", List{1}}}, {cube}), {2, 3}, {1, 2, 3, 4, 5, 6});
  fixture.check(fixture.run("unsqueeze", {{"axes", List{2, 0}}}, {two_by_three}), {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6});
}

TEST_CASE("inputs are broadcast according to their spreads") {
  OperatorFixture fixture;
  const Tensor row{{3}, {10, 20, 30}}, column{{2, 1}, {100, 200}};
  fixture.check(fixture.run("add", {{"right", List{2, 0}}}, {two_by_three, row}), {2, 3}, {11, 22, 33, 14, 25, 36});
  fixture.check(fixture.run("sub", {{"left", List{0, 1}}, {"right", List{2, 0}}}, {column, row}), {2, 3},
                {90, 80, 70, 190, 180, 170});
  CHECK(fixture.library.instantiate("add", {}, std::vector<std::uint32_t>{2, 2}).commutative);
  CHECK_FALSE(
      fixture.library.instantiate("add", {{"right", List{2, 0}}}, std::vector<std::uint32_t>{2, 1}).commutative);
}

TEST_CASE("axes are removed, inserted and kept with extent 1") {
  OperatorFixture fixture;
  fixture.check(fixture.run("reduce_sum", {{"axes", List{0}}}, {two_by_three}), {3}, {5, 7, 9});
  fixture.check(fixture.run("reduce_max_keepdims", {{"axes", List{1}}}, {two_by_three}), {2, 1}, {3, 6});
  fixture.check(fixture.run("reduce_mean", {{"axes", List{1, 0}}}, {two_by_three}), {}, {3.5F});
  fixture.check(fixture.run("select", {{"axis", 1}, {"at", 2}}, {two_by_three}), {2}, {3, 6});
  fixture.check(fixture.run("slice", {{"axis", 1}, {"from", 0}, {"step", 2}}, {two_by_three}, {3}), {2, 2},
                {1, 3, 4, 6});
  fixture.check(fixture.run("pad", {{"front", List{0, 1}}, {"back", List{1, 0}}}, {two_by_three}), {3, 4},
                {0, 1, 2, 3, 0, 4, 5, 6, 0, 0, 0, 0});
}

TEST_CASE("windows support any dimension, stride, dilation and padding") {
  OperatorFixture fixture;
  const Tensor line{{1, 1, 5}, {1, 2, 3, 4, 5}}, kernel{{1, 1, 2}, {10, 1}};
  fixture.check(fixture.run("conv", {{"dilation", 2}}, {line, kernel}), {1, 1, 3}, {13, 24, 35});
  fixture.check(fixture.run("conv", {{"stride", 2}, {"back", 1}}, {line, kernel}), {1, 1, 3}, {12, 34, 50});
  fixture.check(fixture.run("conv_transpose", {{"stride", 2}}, {Tensor{{1, 1, 2}, {1, 2}}, kernel}), {1, 1, 4},
                {10, 1, 20, 2});
  fixture.check(fixture.run("mean_inside", {{"kernel", 2}, {"front", 1}, {"stride", 2}}, {line}), {1, 1, 3},
                {1, 2.5, 4.5});
  fixture.check(fixture.run("max_window", {{"kernel", 2}, {"stride", 2}, {"round", "up"}}, {line}), {1, 1, 3},
                {2, 4, 5});
}

TEST_CASE("invalid lists and axes are rejected with the expected values") {
  OperatorFixture fixture;
  auto error_of = [&](const std::string& name, const Parameters& parameters, std::vector<std::uint32_t> ranks) {
    try {
      fixture.library.instantiate(name, parameters, ranks);
    } catch (const runtime::InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(error_of("conv", {{"stride", List{1, 2, 3}}}, {4, 4}) ==
        "operator 'conv': stride=[1,2,3] is not a list of 2 numbers from 0 to 1048575, one for each of 'd'");
  CHECK(error_of("reduce_sum", {{"axes", List{0, 0}}}, {2}) ==
        "operator 'reduce_sum': axes=[0,0] is not a list of different axes below the rank 2");
  CHECK(error_of("add", {{"right", List{2, 0}}}, {2, 2}) ==
        "operator 'add' takes 2 inputs; inputs of rank (2, 2) do not fit it");
  CHECK(error_of("add", {{"left", List{1}}, {"right", List{1}}}, {1, 1})
            .ends_with("every input broadcasts dimension 0 of 'd'"));
  CHECK(error_of("conv", {{"stride", 0}}, {3, 3}).ends_with("a size parameter d with 'where d = …' is a size"));
}
