// Measured costs of operators in a runtime, per element, for the analytic cost model. They are read from a file that
// bench/calibrate.py writes (data/runtimes/*.toml), so that the code names no operator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::optimize {

class Calibration {
 public:
  /// Throws InputError with the place.
  static Calibration load(const std::filesystem::path& file);
  static Calibration parse(const std::string& text, const std::string& file);

  double node_seconds() const { return node_seconds_; }
  double product_flops() const { return product_flops_; }
  /// The rate of products over windows, as in convolutions; nullopt: that of other products.
  std::optional<double> window_flops() const { return window_flops_; }
  /// The rate of scalar arithmetic inside of operators that the file does not list; nullopt: that of the device.
  std::optional<double> scalar_flops() const { return scalar_flops_; }
  const std::string& runtime() const { return runtime_; }

  /// Returns the time of an operator, without that of a node; nullopt if the file has neither its name nor that of an
  /// ONNX operator that encodes it. Numbers in between the sizes of tensors that were measured are interpolated.
  /// `constant`: by input, true for weights.
  std::optional<double> seconds(const algebra::OperatorInstance& instance,
                                std::span<const std::vector<std::int64_t>> inputs, const std::vector<bool>& constant,
                                double output_elements) const;
  /// Returns the time of an operator by its name in the file, on tensors of so many elements; nullopt if it is absent.
  std::optional<double> seconds(const std::string& name, double elements) const;
  /// Returns the time of reading and writing so many bytes of tensors in all, as Relu does; 0 if that is absent.
  double pass_seconds(double bytes) const;

 private:
  /// Nanoseconds per element of a small and of a large tensor.
  struct Rates {
    double small = 0, large = 0;
  };
  struct Entry {
    Rates own, further;
    bool by_result = false;
  };

  const Entry* find(const algebra::OperatorInstance& instance) const;
  double at(const Rates& rates, double elements) const;

  std::string runtime_;
  double node_seconds_ = 0, product_flops_ = 0;
  std::optional<double> window_flops_, scalar_flops_;
  double small_elements_ = 0, large_elements_ = 0;
  std::map<std::string, Entry> entries_;
};

/// Returns the folder's file for a runtime on this processor, or else for onnxruntime; empty if there is none.
std::filesystem::path calibration_file(const std::filesystem::path& folder, const std::string& runtime);

}  // namespace rulemill::optimize
