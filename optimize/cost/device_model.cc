#include "optimize/cost/device_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/process/stopwatch.h"
#include "runtime/text/error.h"
#include "runtime/text/join_text.h"

namespace rulemill::optimize {
namespace {

double core_count() { return std::max(1u, std::thread::hardware_concurrency()); }

/// Assumes cores of a current server with 256-bit vectors. A few cores exhaust the memory bandwidth.
DeviceModel typical_cpu() {
  double cores = core_count();
  return {"cpu",
          "a typical server with this machine's number of cores",
          40e9 * cores,
          2e9 * cores,
          std::min(12e9 * cores, 100e9),
          2e-6,
          256 * cores};
}

const std::array<DeviceModel, 4>& gpus() {
  static const std::array<DeviceModel, 4> known{{
      {"t4", "NVIDIA T4", 6e12, 2e12, 260e9, 5e-6, 40 * 1024},
      {"v100", "NVIDIA V100", 13e12, 5e12, 800e9, 5e-6, 80 * 2048},
      {"a100", "NVIDIA A100", 16e12, 8e12, 1.4e12, 4e-6, 108 * 2048},
      {"h100", "NVIDIA H100", 50e12, 20e12, 3e12, 4e-6, 132 * 2048},
  }};
  return known;
}

template <typename Work>
double seconds(Work work) {
  const runtime::Stopwatch watch;
  work();
  return watch.seconds();
}

}  // namespace

DeviceModel calibrated(DeviceModel device, Calibration calibration) {
  device.description += ", operators as in " + calibration.runtime();
  device.peak_flops = calibration.product_flops();
  device.window_flops = calibration.window_flops();
  device.scalar_flops = calibration.scalar_flops().value_or(device.scalar_flops);
  device.full_occupancy_elements = 1;  // of one thread
  device.overhead = calibration.node_seconds();
  device.calibration = std::make_shared<const Calibration>(std::move(calibration));
  return device;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names{"cpu", "cpu-measured"};
  for (const DeviceModel& gpu : gpus()) names.push_back(gpu.name);
  return names;
}

DeviceModel find_device(const std::string& name) {
  if (name == "cpu") return typical_cpu();
  if (name == "cpu-measured") return measure_cpu();
  for (const DeviceModel& gpu : gpus()) {
    if (gpu.name == name) return gpu;
  }
  throw runtime::UsageError("--device",
                            "unknown device '" + name + "': expected one of " + runtime::join_text(device_names()));
}

std::vector<DeviceModel> device_variants(const DeviceModel& device) {
  constexpr double factor = 8;
  DeviceModel high_overhead = device, arithmetic_bound = device;
  high_overhead.overhead *= factor;
  arithmetic_bound.overhead /= factor;
  arithmetic_bound.bandwidth *= factor;
  return {device, high_overhead, arithmetic_bound};
}

DeviceModel measure_cpu() {
  DeviceModel device = typical_cpu();
  device.name = "cpu-measured";
  device.description = "this machine, calibrated";
  constexpr std::size_t lanes = 256, rounds = 40'000;
  std::array<float, lanes> a{}, b{}, sum{};
  a.fill(0.5f);
  b.fill(0.25f);
  double product = seconds([&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < lanes; ++i) sum[i] += a[i] * b[i];
      a[round % lanes] += sum[0] * 1e-9f;  // keeps the compiler from removing the loop
    }
  });
  std::vector<char> from(64 << 20, 1), to(64 << 20, 0);
  double copy = seconds([&] { std::memcpy(to.data(), from.data(), from.size()); });
  volatile float keep = sum[7] + static_cast<float>(to[12345]);
  (void)keep;
  device.peak_flops = std::max(device.peak_flops / 8, 2.0 * lanes * rounds / product * core_count());
  device.bandwidth = 2.0 * static_cast<double>(from.size()) / copy;
  return device;
}

}  // namespace rulemill::optimize
