#include "optimize/cost/calibration.h"

#include <catch2/catch.hpp>

#include "optimize/cost/cost_model.h"
#include "runtime/text/error.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize {
namespace {

const std::string small_calibration = R"(
runtime = "onnxruntime 1.32.0"
node_nanoseconds = 500
product_gflops = 50
elements = [100, 10000]
by_result = ["Slice"]
[nanoseconds_per_element]
Add = [1, 3]
Gelu = [7, 7]
gelu_tanh = [4, 4]
Slice = [2, 2]
[nanoseconds_per_further_element]
Add = [1, 1]
)";

/// A cost model by the small calibration, with a line added before another one.
struct CalibratedFixture : GraphFixture {
  explicit CalibratedFixture(const std::string& line = "", const std::string& before = "runtime")
      : cost(bank, fusion, calibrated(find_device("cpu"), parsed(line, before)), {}) {}

  static Calibration parsed(const std::string& line, const std::string& before) {
    std::string text = small_calibration;
    return Calibration::parse(text.insert(text.find(before), line), "c.toml");
  }

  CostModel cost;
};

using Dims = std::vector<std::vector<std::int64_t>>;

double nanoseconds(GraphFixture& fixture, algebra::InstanceId id, const Dims& inputs, double output_elements) {
  const Calibration calibration = Calibration::parse(small_calibration, "c.toml");
  return calibration.seconds(fixture.library.instance(id), inputs, std::vector<bool>(inputs.size()), output_elements)
             .value() *
         1e9;
}

TEST_CASE("measured costs are found by the operator's name, then by ONNX's", "[calibration]") {
  GraphFixture fixture;
  CHECK(nanoseconds(fixture, fixture.instance("gelu_tanh", {1}), {{100}}, 100) == Approx(400));
  CHECK(nanoseconds(fixture, fixture.instance("gelu", {1}), {{100}}, 100) == Approx(700));
  const Calibration calibration = Calibration::parse(small_calibration, "c.toml");
  const algebra::OperatorInstance& relu = fixture.library.instance(fixture.instance("relu", {1}));
  CHECK_FALSE(calibration.seconds(relu, Dims{{100}}, {false}, 100));
}

TEST_CASE("a further input of the result's size costs its own rate, a scalar nothing", "[calibration]") {
  GraphFixture fixture;
  CHECK(nanoseconds(fixture, fixture.instance("add", {1, 1}), {{100}, {100}}, 100) == Approx(200));
  CHECK(nanoseconds(fixture, fixture.instance("add_scalar", {1, 0}), {{100}, {}}, 100) == Approx(100));
}

TEST_CASE("rates between the measured sizes are interpolated, beyond them constant", "[calibration]") {
  GraphFixture fixture;
  const algebra::InstanceId add = fixture.instance("add_scalar", {1, 0});
  CHECK(nanoseconds(fixture, add, {{1000}, {}}, 1000) == Approx(2000));
  CHECK(nanoseconds(fixture, add, {{10}, {}}, 10) == Approx(10));
  CHECK(nanoseconds(fixture, add, {{100000}, {}}, 100000) == Approx(300000));
}

TEST_CASE("an operator that reads what it writes is charged for its result only", "[calibration]") {
  GraphFixture fixture;
  algebra::OperatorInstance slice = fixture.library.instance(fixture.instance("relu", {1}));
  slice.operator_name = "Slice";
  const Calibration calibration = Calibration::parse(small_calibration, "c.toml");
  CHECK(calibration.seconds(slice, Dims{{1000}}, {false}, 10).value() * 1e9 == Approx(20));
}

TEST_CASE("a calibrated device prices what was measured, and products by their rate", "[calibration]") {
  CalibratedFixture fixture;
  const ValueId x = fixture.input("x", {100});
  CHECK(fixture.cost.graph_seconds(std::vector{fixture.op("gelu_tanh", {x})}) * 1e9 == Approx(400 + 500));
  const ValueId a = fixture.input("a", {512, 512}), b = fixture.input("b", {512, 512});
  CHECK(fixture.cost.graph_seconds(std::vector{fixture.op("matmul", {a, b})}) ==
        Approx(2.0 * 512 * 512 * 512 / 50e9 + 5e-7));
}

TEST_CASE("products over windows of several channels have a rate of their own", "[calibration]") {
  CalibratedFixture fixture("window_gflops = 200\n", "elements =");
  const ValueId x = fixture.input("x", {1, 64, 32, 32}), window = fixture.input("k", {64, 64, 3, 3}),
                point = fixture.input("p", {64, 64, 1, 1}), depthwise = fixture.input("d", {64, 1, 3, 3});
  const auto seconds = [&](ValueId kernel) {
    return fixture.cost.graph_seconds(std::vector{fixture.op("conv2d", {x, kernel})});
  };
  const double pixels = 64 * 32 * 32;
  CHECK(seconds(window) == Approx(2 * 9 * 64 * pixels / 200e9 + 5e-7));
  CHECK(seconds(point) == Approx(2 * 64 * pixels / 50e9 + 5e-7));
  CHECK(seconds(depthwise) ==
        Approx(std::max(2 * 9 * pixels / 50e9, 4 * (2 * pixels + 9 * 64) / find_device("cpu").bandwidth) + 5e-7));
}

TEST_CASE("an operator without a measured cost takes at least a pass over its tensors", "[calibration]") {
  CalibratedFixture fixture("Relu = [9, 9]\n", "Slice = ");
  const ValueId a = fixture.input("a", {100, 1}), b = fixture.input("b", {1, 100});
  const double elements = (100 + 100 + 100 * 100) / 2.0;
  CHECK(fixture.cost.graph_seconds(std::vector{fixture.op("matmul", {a, b})}) * 1e9 == Approx(9 * elements + 500));
}

TEST_CASE("a damaged calibration is rejected with its line", "[calibration]") {
  const auto message = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    try {
      Calibration::parse(text, "c.toml");
    } catch (const runtime::InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message(small_calibration, "[1, 3]", "[1]").find("c.toml:8: expected 'Add' to be two numbers") == 0);
  CHECK(message(small_calibration, "[1, 3]", "[-1, 3]").find("c.toml:8: expected 'Add' to be a number") == 0);
  CHECK(message(small_calibration, "node_nanoseconds", "nanoseconds").find("expected the key") != std::string::npos);
  CHECK(message(small_calibration, "[100, 10000]", "[100, 100]").find("ascending order") != std::string::npos);
  CHECK(message(small_calibration, "= 50\n", "= \n").find("c.toml:4") == 0);
}

TEST_CASE("the shipped calibration is valid", "[calibration]") {
  CHECK_NOTHROW(Calibration::load("data/runtimes/onnxruntime-x86_64.toml"));
  CHECK(calibration_file("data/no such folder", "torch").empty());
}

}  // namespace
}  // namespace rulemill::optimize
