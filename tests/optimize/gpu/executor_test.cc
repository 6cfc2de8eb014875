#include "optimize/gpu/executor.h"

#include "runtime/error.h"
#include "tests/optimize/graphs.h"

namespace rulemill::optimize::gpu {
namespace {

TEST_CASE("a median stands between its quartiles, and one run is all three", "[gpu]") {
  const RunTime one = run_time_of({0.25});
  CHECK((one.median == 0.25 && one.lower == 0.25 && one.upper == 0.25 && one.runs == 1));
  const RunTime five = run_time_of({5, 1, 4, 2, 3});
  CHECK((five.median == 3 && five.lower == 2 && five.upper == 4 && five.runs == 5));
  CHECK(run_time_of({1, 2}).median == 1.5);
}

/// A GPU, or nothing with a visible word.
std::unique_ptr<Executor> executor_if_there() {
  try {
    return Executor::open();
  } catch (const runtime::InputError& error) {
    CHECK_THAT(error.what(), Catch::StartsWith("GPU") && !Catch::Contains("\n"));
    WARN("SKIPPED: " << error.what());
    return nullptr;
  }
}

TEST_CASE("a network runs on the device as its definitions say", "[gpu][device]") {
  const auto executor = executor_if_there();
  if (!executor) return;
  Workshop shop;
  const ValueId x = shop.input("x", {2, 4, 16, 16});
  const algebra::Parameters same{{"stride", std::int64_t{1}}, {"pad", std::string("same")}};
  ValueId y = shop.op("conv2d", {x, shop.weight("w", {8, 4, 3, 3})}, same);
  y = shop.op("relu", {shop.op("add_channel", {y, shop.weight("b", {8})})});
  y = shop.op("max_pool", {y},
              {{"kernel", std::int64_t{2}}, {"stride", std::int64_t{2}}, {"pad", std::string("valid")}});
  y = shop.op("conv2d", {y, shop.weight("v", {8, 1, 3, 3})}, same);
  y = shop.op("softmax", {shop.op("matmul", {shop.op("sigmoid", {y}), y})});
  const std::vector<ValueId> outputs{y};
  const Plan plan = plan_of(shop.bank, outputs, {});
  std::vector<float> values(2 * 4 * 16 * 16);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 2001) / 1000 - 1;
  Evaluator evaluator(shop.bank, {}, [&](ValueId) { return tensor({2, 4, 16, 16}, {values.begin(), values.end()}); });
  const auto expected = evaluator.value(y);
  const auto loaded =
      executor->load(plan, shop.library.functions(), [&](ValueId id) { return floats(*evaluator.value(id)); });
  for (int repeat = 0; repeat < 2; ++repeat) {  // inputs are still there, and nothing else counts
    const auto made = loaded->run({values});
    REQUIRE(made.at(0).size() == expected->values.size());
    for (std::size_t e = 0; e < made[0].size(); ++e) CHECK(made[0][e] == Approx(expected->values[e]).margin(1e-4));
  }
  const RunTime time = loaded->time({});
  CHECK((time.median > 0 && time.lower <= time.median && time.median <= time.upper && time.runs == 50));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
