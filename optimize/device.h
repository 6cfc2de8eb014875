// What the cost model knows of a device. Numbers are single precision, as sustained rather than advertised.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rulemill::optimize {

struct Device {
  std::string name;
  std::string description;
  double peak_flops = 0;     // per second, dense products
  double scalar_flops = 0;   // per second, for arithmetic outside products (functions of one element)
  double bandwidth = 0;      // bytes per second, main memory
  double overhead = 0;       // seconds that each operator costs before it does anything
  double busy_elements = 0;  // output elements that it takes to keep every core busy
};

/// "cpu" (from the number of cores), "cpu-measured" (a short calibration, not repeatable), and common GPUs by name.
/// Throws UsageError with the known names.
Device find_device(const std::string& name);
std::vector<std::string> device_names();

/// The device, and what it might be like instead: where results are timed, what is cheapest for each of these is tried.
/// The first is the device itself; then one where nodes cost most, and one where arithmetic does.
std::vector<Device> readings_of(const Device& device);

/// Times a product loop and a copy for some tens of milliseconds on all cores.
Device measure_cpu();

}  // namespace rulemill::optimize
