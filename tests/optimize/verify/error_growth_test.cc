#include "optimize/verify/error_growth.h"

#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

struct GrowthFixture : GraphFixture {
  double ratio(ValueId before, ValueId after) {
    return find_error_growth(bank, std::span(&before, 1), std::span(&after, 1), {}).ratio;
  }
};

TEST_CASE("the error of a difference grows if it is computed after a product", "[error_growth]") {
  GrowthFixture fixture;
  const DataType type = GENERATE(DataType::Float32, DataType::Float16, DataType::BFloat16);
  const ValueId x = fixture.input("x", {128}, type), y = fixture.input("y", {128}, type),
                c = fixture.input("c", {128}, type);
  const ValueId inside = fixture.op("mul", {fixture.op("sub", {x, y}), c});
  const ValueId outside = fixture.op("sub", {fixture.op("mul", {x, c}), fixture.op("mul", {y, c})});
  CHECK(fixture.ratio(inside, outside) > 16);
  CHECK(fixture.ratio(outside, inside) < 4);
}

TEST_CASE("the error of products in another order does not grow", "[error_growth]") {
  GrowthFixture fixture;
  const ValueId x = fixture.input("x", {16, 16}), a = fixture.weight("a", {16, 16}), b = fixture.weight("b", {16, 16});
  CHECK(fixture.ratio(fixture.op("matmul", {fixture.op("matmul", {x, a}), b}),
                      fixture.op("matmul", {x, fixture.op("matmul", {a, b})})) < 4);
}

TEST_CASE("float64 and graphs with much arithmetic have no measured error", "[error_growth]") {
  GrowthFixture fixture;
  const ValueId x = fixture.input("x", {64}, DataType::Float64), large = fixture.input("large", {4096, 4096});
  CHECK(fixture.ratio(x, fixture.op("neg", {fixture.op("neg", {x})})) == 0);
  CHECK(fixture.ratio(large, fixture.op("matmul", {large, large})) == 0);
}

TEST_CASE("the same inputs are found again", "[error_growth]") {
  GrowthFixture fixture;
  const ValueId x = fixture.input("x", {100}), y = fixture.op("exp", {x});
  const ValueId z = fixture.op("mul", {y, fixture.op("exp", {fixture.op("neg", {x})})});
  CHECK(fixture.ratio(y, fixture.op("mul", {y, z})) == fixture.ratio(y, fixture.op("mul", {y, z})));
}

}  // namespace
}  // namespace rulemill::optimize
