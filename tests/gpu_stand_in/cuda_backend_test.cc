// The CUDA backend of fingerprints, run by the stand-in, against the CPU: the same rows.
#include "enumerate/profile/profile_reader.h"
#include "execute/gpu/gpu_evaluator.h"
#include "fingerprint/level_runner.h"
#include "runtime/text/error.h"
#include "tests/gpu_stand_in/checked_run.h"
#include "tests/shipped_operators.h"

namespace rulemill::fingerprint {
namespace {

using gpu_stand_in::CheckedRun;

constexpr const char* small = R"(
name = "small"
seed = 5
max_ops = 3
max_elements = 16
[[variables]]
names = ["x", "y", "z"]
shape = [2, 2]
[[operators]]
operator = "add"
[[operators]]
operator = "matmul"
ranks = [2]
[[operators]]
operator = "relu"
ranks = [2]
)";

struct Evaluated {
  std::vector<execute::Fingerprint> fingerprints;
  std::string backend;
};

Evaluated evaluate(DeviceChoice device, unsigned threads = 1) {
  algebra::Library library = shipped_operators();
  const auto profile = enumerate::parse_profile(small, "small.toml", library);
  LevelRunner::Options options;
  options.device = device;
  options.threads = threads;
  LevelRunner runner(profile, library, options);
  runner.prepare(3);
  EvaluatedRows rows;
  rows.resize(0, runner.statistics().back().rows, runner.enumerator().arity_stride());
  runner.evaluate(0, runner.statistics().back().rows, rows);
  Evaluated result{{}, runner.backend()};
  for (const OrbitFingerprint& each : rows.fingerprints) result.fingerprints.push_back(each.minimum);
  return result;
}

const Evaluated& expected() {
  static const Evaluated cpu = evaluate(DeviceChoice::Cpu);
  return cpu;
}

TEST_CASE("the CUDA kernel computes the fingerprints of the CPU") {
  const CheckedRun checked;
  REQUIRE(expected().fingerprints.size() > 100);
  const Evaluated gpu = evaluate(DeviceChoice::Gpu);
  CHECK(gpu.fingerprints == expected().fingerprints);
  CHECK(gpu.backend == "cuda GPU stand-in");
}

TEST_CASE("the CPU takes over from a refused call, unless a GPU is demanded") {
  for (const char* call :
       {"cudaSetDevice", "cudaGetDeviceProperties", "cudaMalloc", "cudaMalloc@6", "cudaMallocHost", "cudaMemcpy",
        "cudaMemGetInfo", "cudaMemcpyAsync", "cudaMemcpyAsync@2", "cudaLaunchKernel", "cudaStreamCreateWithFlags",
        "cudaStreamSynchronize", "cudaOccupancyMaxActiveBlocksPerMultiprocessor"}) {
    INFO(call);
    {
      const CheckedRun checked(call);
      const Evaluated automatic = evaluate(DeviceChoice::Auto);
      CHECK(automatic.fingerprints == expected().fingerprints);
      CHECK_THAT(automatic.backend, Catch::Contains("cpu "));
    }
    const CheckedRun checked(call);
    CHECK_THROWS_AS(evaluate(DeviceChoice::Gpu), runtime::Error);
  }
}

TEST_CASE("the batches of all threads fit into the device's memory") {
  constexpr std::uint64_t bytes = 2'000'000'000;
  for (const unsigned threads : {1U, 64U}) {
    const CheckedRun checked("memory=" + std::to_string(bytes));
    CHECK(evaluate(DeviceChoice::Gpu, threads).fingerprints == expected().fingerprints);
    // One thread's share is what it takes: two batches.
    CHECK(gpu_stand_in::peak_device_bytes() > bytes / threads / 2);
    CHECK(gpu_stand_in::peak_device_bytes() * threads < (threads == 1 ? bytes : bytes + threads * 1'000'000));
  }
  const CheckedRun checked("memory=100000000");
  CHECK_THROWS_WITH(evaluate(DeviceChoice::Gpu, 64), Catch::Contains("too little for 64 threads"));
}

TEST_CASE("a driver that is too old is reported, and ends a run that demands a GPU") {
  const CheckedRun checked("cudaGetDeviceCount=35");
  CHECK_THAT(execute::gpu_problem(),
             Catch::Contains("driver version is insufficient") && Catch::Contains("this build needs"));
  CHECK_THAT(evaluate(DeviceChoice::Auto).backend, Catch::StartsWith("cpu "));
  CHECK_THROWS_WITH(evaluate(DeviceChoice::Gpu), Catch::Contains("--device gpu") && Catch::Contains("insufficient"));
}

}  // namespace
}  // namespace rulemill::fingerprint
