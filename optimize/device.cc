#include "optimize/device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "runtime/error.h"
#include "runtime/joined.h"

namespace rulemill::optimize {

namespace {

double core_count() { return std::max(1u, std::thread::hardware_concurrency()); }

/// One core of a current server with 256-bit vectors; memory bandwidth grows with the first few cores only.
Device typical_cpu() {
  double cores = core_count();
  return {"cpu",
          "a typical server with this machine's number of cores",
          40e9 * cores,
          2e9 * cores,
          std::min(12e9 * cores, 100e9),
          2e-6,
          256 * cores};
}

const std::array<Device, 4>& gpus() {
  static const std::array<Device, 4> known{{
      {"t4", "NVIDIA T4", 6e12, 2e12, 260e9, 5e-6, 40 * 1024},
      {"v100", "NVIDIA V100", 13e12, 5e12, 800e9, 5e-6, 80 * 2048},
      {"a100", "NVIDIA A100", 16e12, 8e12, 1.4e12, 4e-6, 108 * 2048},
      {"h100", "NVIDIA H100", 50e12, 20e12, 3e12, 4e-6, 132 * 2048},
  }};
  return known;
}

template <typename Work>
double seconds(Work work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names{"cpu", "cpu-measured"};
  for (const Device& gpu : gpus()) names.push_back(gpu.name);
  return names;
}

Device find_device(const std::string& name) {
  if (name == "cpu") return typical_cpu();
  if (name == "cpu-measured") return measure_cpu();
  for (const Device& gpu : gpus()) {
    if (gpu.name == name) return gpu;
  }
  throw runtime::UsageError("--device",
                            "unknown device '" + name + "': expected one of " + runtime::joined(device_names()));
}

std::vector<Device> readings_of(const Device& device) {
  constexpr double much = 8;
  Device nodes = device, arithmetic = device;
  nodes.overhead *= much;
  arithmetic.overhead /= much;
  arithmetic.bandwidth *= much;
  return {device, nodes, arithmetic};
}

Device measure_cpu() {
  Device device = typical_cpu();
  device.name = "cpu-measured";
  device.description = "this machine, calibrated";
  constexpr std::size_t lanes = 256, rounds = 40'000;
  std::array<float, lanes> a{}, b{}, sum{};
  a.fill(0.5f);
  b.fill(0.25f);
  double product = seconds([&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < lanes; ++i) sum[i] += a[i] * b[i];
      a[round % lanes] += sum[0] * 1e-9f;  // the loop cannot be dropped
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
