// What the executor makes of refused calls, missing memory and failures inside capture.
#include <algorithm>
#include <cmath>
#include <set>

#include "optimize/gpu/device/costs.h"
#include "optimize/gpu/device/plan_executor.h"
#include "optimize/gpu/kernels/compiler.h"
#include "runtime/text/error.h"
#include "tests/gpu_stand_in/checked_run.h"
#include "tests/optimize/graph_fixture.h"

namespace rulemill::optimize::gpu {
namespace {

using gpu_stand_in::call_counts;
using gpu_stand_in::CheckedRun;

/// A network with a call of every library and a kernel, and what its definitions compute.
struct Network : GraphFixture {
  Network() {
    const algebra::Parameters same{{"stride", std::int64_t{1}}, {"pad", std::string("same")}};
    ValueId y = op("conv2d", {input("x", {1, 4, 6, 6}), weight("w", {4, 4, 3, 3})}, same);
    y = op("relu", {op("add_channel", {y, weight("b", {4})})});
    y = op("max_pool", {y}, {{"kernel", std::int64_t{3}}});
    y = op("softmax", {op("matmul", {op("sigmoid", {y}), y})});
    outputs = {y};
    plan = make_plan(bank, outputs, {});
    values.resize(1 * 4 * 6 * 6);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 2001) / 1000 - 1;
    GraphEvaluator evaluator(bank, {}, [&](ValueId) { return tensor({1, 4, 6, 6}, {values.begin(), values.end()}); });
    expected = to_floats(*evaluator.value(y));
  }

  std::vector<float> run() {
    const auto executor = PlanExecutor::open();
    const auto loaded = executor->load(plan, library.functions(),
                                       [&](ValueId id) { return to_floats(*bank.tensor(bank.node_of(id).source)); });
    return loaded->run({values}).at(0);
  }

  void check_run() {
    const std::vector<float> actual = run();
    REQUIRE(actual.size() == expected.size());
    for (std::size_t e = 0; e < actual.size(); ++e) CHECK(actual[e] == Approx(expected[e]).margin(1e-5));
  }

  std::vector<ValueId> outputs;
  Plan plan;
  std::vector<float> values, expected;
};

std::size_t calls_of(const char* name, Network& network) {
  const std::size_t before = call_counts()[name];
  network.check_run();
  return call_counts()[name] - before;
}

TEST_CASE("a bias and a relu are computed by the fused call or by calls of their own, whichever is not refused") {
  Network network;
  const CheckedRun checked;
  gpu_stand_in::plan(gpu_stand_in::parse_faults("cudnnAddTensor"));
  const std::size_t tried = calls_of("cudnnAddTensor", network);
  CHECK(calls_of("cudnnConvolutionBiasActivationForward", network) > 10);  // timed, too
  gpu_stand_in::plan(gpu_stand_in::parse_faults("cudnnConvolutionBiasActivationForward"));
  CHECK(calls_of("cudnnAddTensor", network) > tried);
  CHECK(calls_of("cudnnActivationForward", network) > 0);
}

TEST_CASE("an algorithm that reports default math is used, and one that needs tensor cores is not") {
  Network network;
  {
    const CheckedRun checked("math=" + std::to_string(0));  // CUDNN_DEFAULT_MATH
    network.check_run();
  }
  const CheckedRun checked("math=" + std::to_string(1));  // CUDNN_TENSOR_OP_MATH
  CHECK_THROWS_WITH(network.run(), Catch::Contains("cuDNN has no algorithm for a convolution"));
}

TEST_CASE("the second algorithm is used if the first does not run") {
  Network network;
  const CheckedRun checked("cudnnConvolutionForward@1");
  network.check_run();
}

TEST_CASE("every call that is refused is an error with its name, and everything is released") {
  Network network;
  std::set<std::string> needed;
  {
    const auto before = call_counts();
    const CheckedRun checked;
    network.check_run();
    for (const auto& [name, count] : call_counts()) {
      const auto found = before.find(name);
      if (found == before.end() || count > found->second) needed.insert(name);
    }
  }
  // Without them a run succeeds, or their failure cannot be reported.
  const std::set<std::string> optional{"cudnnConvolutionBiasActivationForward", "cudnnConvolutionForward",
                                       "cudnnAddTensor", "cudnnActivationForward", "cudaDeviceReset"};
  CHECK(needed.size() > 40);
  for (const std::string& name : needed) {
    if (optional.contains(name) || name.find("Destroy") != std::string::npos ||
        name.find("Free") != std::string::npos || name.find("Unload") != std::string::npos)
      continue;
    INFO(name);
    const CheckedRun checked(name);
    std::string message;
    try {
      network.run();
    } catch (const runtime::Error& error) {
      message = error.what();
    }
    const bool names_call =
        message.find(name) != std::string::npos ||
        (name == "nvrtcCompileProgram" && message.find("kernel compilation") != std::string::npos) ||
        (name == "cudaGetDeviceCount" && message.find("no GPU can be used") != std::string::npos);
    CHECK((names_call ? "" : message + " does not name the call").empty());
  }
}

TEST_CASE("a failure inside capture ends the capture, and the next plan loads") {
  Network network;
  for (const char* call : {"cudnnPoolingForward", "cudnnSoftmaxForward", "cublasLtMatmul", "cudaLaunchKernel",
                           "cudnnConvolutionBiasActivationForward"}) {
    INFO(call);
    const CheckedRun checked(std::string(call) + "@capture");
    CHECK_THROWS_WITH(network.run(), Catch::Contains(call));
    gpu_stand_in::plan({});
    network.check_run();
  }
}

TEST_CASE("memory that runs out is an error, and what was taken is returned") {
  Network network;
  {
    const CheckedRun checked("memory=1000000000");  // workspace and flush, but not a plan with its constants
    network.check_run();
    CHECK(gpu_stand_in::peak_device_bytes() > 700'000'000);
  }
  for (const char* bytes : {"0", "300000000", "809501000"}) {
    const CheckedRun checked(std::string("memory=") + bytes);
    CHECK_THROWS_WITH(network.run(), Catch::Contains("cudaMalloc: out of memory"));
  }
  const CheckedRun checked("cudaMalloc@5=2");
  CHECK_THROWS_WITH(network.run(), Catch::Contains("cudaMalloc: out of memory"));
}

CostQuery convolution(Network& network, std::int64_t batch) {
  return {network.instance("conv2d", {4, 4}), {{batch, 4, 6, 6}, {4, 4, 3, 3}}, {false, true}, {}, {}};
}

TEST_CASE("nodes are timed on the real executor, and refused ones have no cost") {
  Network network;
  const CheckedRun checked;
  const auto costs = cuda_costs({}, network.library);
  const double seconds = costs->seconds(convolution(network, 1)).value();
  CHECK(seconds > 0);
  CHECK(costs->seconds(convolution(network, 64)).value() > seconds);
  gpu_stand_in::plan(gpu_stand_in::parse_faults("cudnnFindConvolutionForwardAlgorithmEx"));
  CHECK_FALSE(costs->seconds(convolution(network, 2)).has_value());
  costs->require_times();
  CHECK_THAT(costs->description(), Catch::Contains("1 nodes could not be timed"));
}

TEST_CASE("costs are an error if every node is refused or the GPU is lost") {
  Network network;
  {
    const CheckedRun checked("cudnnFindConvolutionForwardAlgorithmEx");
    const auto costs = cuda_costs({}, network.library);
    CHECK_FALSE(costs->seconds(convolution(network, 1)).has_value());
    CHECK_THROWS_WITH(costs->require_times(), Catch::Contains("cudnnFindConvolutionForwardAlgorithmEx"));
  }
  {
    const auto costs = cuda_costs({}, network.library);
    gpu_stand_in::plan(gpu_stand_in::parse_faults("cudaGraphLaunch=700"));
    CHECK_THROWS_WITH(costs->seconds(convolution(network, 1)), Catch::Contains("an illegal memory access"));
  }
  gpu_stand_in::restart();
}

TEST_CASE("calls are timed in both layouts, of one to three dimensions") {
  const CheckedRun checked;
  const auto executor = PlanExecutor::open();
  CostTable table;
  const auto costs = measured_layout_costs(find_device("h100"), table, executor.get());
  for (const std::size_t rank : {1, 2, 3}) {
    Convolution op;
    op.groups = 2;
    op.stride.assign(rank, 2);
    op.dilation.assign(rank, 2);
    op.pad_begin.assign(rank, 2);
    op.pad_end.assign(rank, 2);
    op.epilogue = {7, true};
    Pooling pooling;
    pooling.window.assign(rank, 3);
    pooling.stride.assign(rank, 2);
    pooling.pad.assign(rank, 1);
    std::vector<std::int64_t> image{1, 4}, filters{6, 2}, convolved{1, 6}, pooled{1, 4};
    for (std::size_t d = 0; d < rank; ++d) {
      image.push_back(9);
      filters.push_back(3);
      convolved.push_back(5);
      pooled.push_back(5);
    }
    for (const Layout layout : {Layout::RowMajor, Layout::ChannelsLast}) {
      INFO(rank);
      CHECK(costs->seconds({op, image, filters, convolved, layout}).value() > 0);
      CHECK(costs->seconds({pooling, image, {}, pooled, layout}).value() > 0);
    }
  }
}

TEST_CASE("a launch plan runs its empty kernels in turn") {
  const CheckedRun checked;
  const Plan plan = make_launch_plan(5);
  CHECK(plan.steps.size() == 5);
  const auto executor = PlanExecutor::open();
  const auto loaded = executor->load(plan, {}, [](ValueId) { return std::vector<float>(); });
  CHECK(loaded->run({}).empty());
  CHECK(loaded->time({}).median == Approx(5 * (1e-6 + 1e-9 * Kernel::threads_per_block)).epsilon(1e-3));
}

TEST_CASE("the compiler has a version, and reports an error in one line") {
  CHECK_THAT(compiler_version().value(), Catch::StartsWith("NVRTC "));
  CHECK_THROWS_WITH(compile("extern \"C\" __global__ void broken() { nonsense; }", "sm_90"),
                    Catch::Contains("nonsense") && !Catch::Contains("\n"));
}

TEST_CASE("a driver that is too old is reported with both versions") {
  const CheckedRun checked("cudaGetDeviceCount=35");
  CHECK_THROWS_WITH(require_gpu(), Catch::Contains("driver version is insufficient") &&
                                       Catch::Contains("(the driver supports CUDA ") && Catch::Contains("build needs"));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
