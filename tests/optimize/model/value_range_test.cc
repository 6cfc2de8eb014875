#include "optimize/model/value_range.h"

#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

struct RangeFixture : GraphFixture {
  explicit RangeFixture(DataType data_type) : type(data_type) {}

  bool overflows_more(ValueId before, ValueId after) {
    return find_overflow({bank, std::span(&before, 1), std::span(&after, 1), {}}).has_value();
  }
  ValueId number(double value) { return bank.constant("number", tensor({}, {value}), type); }

  DataType type;
};

TEST_CASE("a scaling that moves behind a product overflows in 16-bit floats only", "[range]") {
  const auto [type, is_short] = GENERATE(table<DataType, bool>(
      {{DataType::Float16, true}, {DataType::BFloat16, true}, {DataType::Float32, false}, {DataType::Float64, false}}));
  RangeFixture fixture(type);
  const ValueId q = fixture.input("q", {fixture.size("n"), 64}, type), k = fixture.input("k", {64, 8}, type),
                eighth = fixture.number(0.125);
  const ValueId before = fixture.op("matmul", {fixture.op("scale", {q, eighth}), k});
  const ValueId after = fixture.op("scale", {fixture.op("matmul", {q, k}), eighth});
  CHECK(fixture.overflows_more(before, after) == is_short);
  CHECK_FALSE(fixture.overflows_more(after, before));
  CHECK_FALSE(fixture.overflows_more(before, before));
}

TEST_CASE("a sum before its division overflows", "[range]") {
  RangeFixture fixture(DataType::Float16);
  const algebra::Parameters rows{{"axes", std::vector<std::int64_t>{1}}};
  const ValueId x = fixture.input("x", {4, 64}, DataType::Float16), divisor = fixture.number(64);
  const ValueId before = fixture.op("reduce_sum_keepdims", {fixture.op("div_scalar", {x, divisor})}, rows);
  const ValueId after = fixture.op("div_scalar", {fixture.op("reduce_sum_keepdims", {x}, rows), divisor});
  CHECK(fixture.overflows_more(before, after));
  CHECK_FALSE(fixture.overflows_more(after, before));
}

TEST_CASE("products in another order with constant weights do not overflow", "[range]") {
  RangeFixture fixture(DataType::Float16);
  const ValueId x = fixture.input("x", {4, 8}, DataType::Float16);
  const auto weight = [&](const std::string& name) {
    return fixture.bank.constant(name, tensor({8, 8}, std::vector<double>(64, 0.5)), DataType::Float16);
  };
  const ValueId a = weight("a"), b = weight("b");
  CHECK_FALSE(fixture.overflows_more(fixture.op("matmul", {fixture.op("matmul", {x, a}), b}),
                                     fixture.op("matmul", {x, fixture.op("matmul", {a, b})})));
}

}  // namespace
}  // namespace rulemill::optimize
