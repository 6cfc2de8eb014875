#include "optimize/gpu/device/plan_executor.h"

#include <cstdlib>

#include "runtime/text/error.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize::gpu {
namespace {

TEST_CASE("run times are summarized by median and quartiles", "[gpu]") {
  const RunTime one = summarize_runs({0.25});
  CHECK((one.median == 0.25 && one.lower == 0.25 && one.upper == 0.25 && one.runs == 1));
  const RunTime five = summarize_runs({5, 1, 4, 2, 3});
  CHECK((five.median == 3 && five.lower == 2 && five.upper == 4 && five.runs == 5));
  CHECK(summarize_runs({1, 2}).median == 1.5);
}

/// Opens a GPU; without one, warns that the test is skipped, or fails where a GPU is required.
std::unique_ptr<PlanExecutor> open_executor() {
  try {
    return PlanExecutor::open();
  } catch (const runtime::InputError& error) {
    CHECK_THAT(error.what(), Catch::StartsWith("GPU") && !Catch::Contains("\n"));
    if (std::getenv("RULEMILL_REQUIRE_GPU") != nullptr) throw;
    WARN("SKIPPED: " << error.what());
    return nullptr;
  }
}

TEST_CASE("a network computes the same on the GPU as its definitions", "[gpu][device]") {
  const auto executor = open_executor();
  if (!executor) return;
  GraphFixture fixture;
  const ValueId x = fixture.input("x", {2, 4, 16, 16});
  const algebra::Parameters same{{"stride", std::int64_t{1}}, {"pad", std::string("same")}};
  ValueId y = fixture.op("conv2d", {x, fixture.weight("w", {8, 4, 3, 3})}, same);
  y = fixture.op("relu", {fixture.op("add_channel", {y, fixture.weight("b", {8})})});
  y = fixture.op("max_pool", {y},
                 {{"kernel", std::int64_t{2}}, {"stride", std::int64_t{2}}, {"pad", std::string("valid")}});
  y = fixture.op("conv2d", {y, fixture.weight("v", {8, 1, 3, 3})}, same);
  y = fixture.op("softmax", {fixture.op("matmul", {fixture.op("sigmoid", {y}), y})});
  const std::vector<ValueId> outputs{y};
  const Plan plan = make_plan(fixture.bank, outputs, {});
  std::vector<float> values(2 * 4 * 16 * 16);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 2001) / 1000 - 1;
  GraphEvaluator evaluator(fixture.bank, {}, [&](ValueId) {
    return tensor({2, 4, 16, 16}, {values.begin(), values.end()});
  });
  const auto expected = evaluator.value(y);
  const auto loaded =
      executor->load(plan, fixture.library.functions(), [&](ValueId id) { return to_floats(*evaluator.value(id)); });
  for (int repeat = 0; repeat < 2; ++repeat) {  // the inputs survive a run
    const auto results = loaded->run({values});
    REQUIRE(results.at(0).size() == expected->values.size());
    for (std::size_t e = 0; e < results[0].size(); ++e)
      CHECK(results[0][e] == Approx(expected->values[e]).margin(1e-4));
  }
  const RunTime time = loaded->time({});
  CHECK((time.median > 0 && time.lower <= time.median && time.median <= time.upper && time.runs == 50));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
