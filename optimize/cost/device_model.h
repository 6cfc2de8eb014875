// Models of devices for the analytic cost model. Figures are sustained rates in single precision.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "optimize/cost/calibration.h"

namespace rulemill::optimize {

struct DeviceModel {
  std::string name;
  std::string description;
  double peak_flops = 0;                                     // per second, in dense products
  double scalar_flops = 0;                                   // per second, in elementwise functions
  double bandwidth = 0;                                      // bytes per second, main memory
  double overhead = 0;                                       // seconds per operator call
  double full_occupancy_elements = 0;                        // output elements that are needed to occupy all cores
  std::optional<double> window_flops = std::nullopt;         // per second, in products over windows; else peak_flops
  std::shared_ptr<const Calibration> calibration = nullptr;  // measured operators; others follow from the rates
};

/// Returns the device with the measured costs, and with their rates of products and their overhead.
DeviceModel calibrated(DeviceModel device, Calibration calibration);

/// Returns the model of "cpu" (by the number of cores), of "cpu-measured" (a short calibration, not reproducible) or of
/// a GPU by name. Throws UsageError with the known names.
DeviceModel find_device(const std::string& name);
std::vector<std::string> device_names();

/// Returns the device followed by variants of it: one with high overhead per node, and one dominated by arithmetic. If
/// results are benchmarked, the cheapest graph for each variant is a candidate.
std::vector<DeviceModel> device_variants(const DeviceModel& device);

/// Times a multiply-add loop and a copy, for less than a second.
DeviceModel measure_cpu();

}  // namespace rulemill::optimize
