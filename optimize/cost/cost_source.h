// Sources of measured costs, which replace the analytic cost model: times of single nodes, and of a node with an
// activation that the runtime fuses into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::optimize {

struct CostOptions {
  std::string device = "cpu";       // a device model by name
  std::string source = "analytic";  // or "onnxruntime", "cuda", "table", "random"
  std::uint64_t seed = 0;           // of "random"
  std::filesystem::path table;      // file (for "cuda" a folder) of measured times, read and extended; empty: none
  std::vector<std::string> helper;  // command of onnxruntime_costs.h
};

/// A node at known shapes, and possibly an activation on its result.
struct CostQuery {
  algebra::InstanceId instance{};
  std::vector<std::vector<std::int64_t>> inputs;
  std::vector<bool> constant;  // by input: true for weights
  std::vector<std::int64_t> sizes;
  std::optional<algebra::InstanceId> activation;
};

/// Returns the number of elements of a tensor, which may be larger than any integer.
inline double count_elements(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
}

class CostSource {
 public:
  virtual ~CostSource() = default;
  /// Returns seconds; nullopt if the time is unknown, so that the analytic model applies.
  virtual std::optional<double> seconds(const CostQuery& query) = 0;
  /// Returns a text for the report: "onnxruntime 1.31.0, 1 thread, a table of 212 times".
  virtual std::string description() const = 0;
  /// Throws InputError if times were needed and none is known.
  virtual void require_times() const {}
  /// Lets other processes use the device until the next measurement.
  virtual void release_device() {}
  /// Stores new measurements. Throws IoError.
  virtual void save() {}
};

}  // namespace rulemill::optimize
