#include "optimize/model/empty_windows.h"

#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

struct WindowFixture : GraphFixture {
  bool adds_empty_windows(ValueId before, ValueId after) {
    return EmptyWindows(bank, std::span(&before, 1)).are_added_by(std::span(&after, 1));
  }
  ValueId filter(std::int64_t size) { return weight("k" + std::to_string(size), {4, 4, size, size}); }
};

TEST_CASE("a convolution instead of an elementwise operator fails on empty tensors only", "[windows]") {
  WindowFixture fixture;
  const ValueId open = fixture.input("x", {fixture.size("n"), 4, fixture.size("h"), 8});
  CHECK(fixture.adds_empty_windows(fixture.op("relu", {open}), fixture.op("conv2d", {open, fixture.filter(1)})));
  const ValueId fixed = fixture.input("y", {fixture.size("n"), 4, 8, 8});
  CHECK_FALSE(
      fixture.adds_empty_windows(fixture.op("relu", {fixed}), fixture.op("conv2d", {fixed, fixture.filter(1)})));
}

TEST_CASE("a convolution may replace one that rejects the same sizes", "[windows]") {
  WindowFixture fixture;
  const ValueId x = fixture.input("x", {fixture.size("n"), 4, fixture.size("h"), 8});
  const ValueId small = fixture.op("conv2d", {x, fixture.filter(1)}),
                large = fixture.op("conv2d", {x, fixture.filter(3)});
  CHECK_FALSE(fixture.adds_empty_windows(small, large));
  CHECK_FALSE(fixture.adds_empty_windows(small, fixture.op("relu", {small})));
}

TEST_CASE("a convolution behind a pool that computes an empty tensor fails", "[windows]") {
  WindowFixture fixture;
  const algebra::Poly rows = fixture.size("h") + algebra::Poly(1);  // one row becomes none
  const algebra::Parameters by_two{{"kernel", std::int64_t{2}}, {"pad", std::string("valid")}};
  const ValueId x = fixture.input("x", {fixture.size("n"), 4, rows, 8});
  const ValueId pool = fixture.op("avg_pool", {x}, by_two);
  CHECK(fixture.adds_empty_windows(fixture.op("avg_pool", {fixture.op("relu", {x})}, by_two),
                                   fixture.op("conv2d", {pool, fixture.filter(1)})));
  CHECK_FALSE(fixture.adds_empty_windows(fixture.op("conv2d", {pool, fixture.filter(1)}),
                                         fixture.op("conv2d", {pool, fixture.filter(1)})));
}

}  // namespace
}  // namespace rulemill::optimize
