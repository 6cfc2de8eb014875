// The criterion by which a rewritten model counts as equal: its error against a float64 reference is at most a multiple
// of the original model's own rounding error. The definitions and onnxruntime use the same criterion.
#pragma once

#include <span>
#include <string>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

struct AccuracyPolicy {
  /// error after <= max_error_ratio * (error before + unit roundoff of the type), relative to the largest value
  double max_error_ratio = 4;
  /// Largest difference if there is no usable reference: for float64 (scaled to its unit roundoff), whose reference is
  /// no more exact, and for ill-conditioned originals.
  double tolerance = 1e-4;
  /// Nothing is compared where the original is NaN: a rule that only widens was applied.
  bool only_where_defined = false;
};
/// An original with a larger error is ill-conditioned: results are compared with each other, not with the reference.
constexpr double max_original_error = 0.05;
/// In a smaller tensor the original's error may be small by chance, so the largest error over all inputs counts.
constexpr std::size_t small_tensor_elements = 64;

/// Largest errors of the elements of a tensor, relative to the largest value of the reference.
struct RelativeErrors {
  double before = 0, after = 0;          // against the reference
  double difference = 0;                 // between before and after
  std::size_t worst_element = 0;         // with the largest error after
  bool same_nonfinite_positions = true;  // NaN and infinity are at the same positions before and after

  /// Takes the maximum of both.
  void merge(const RelativeErrors& other);
};

RelativeErrors measure_errors(std::span<const double> reference, std::span<const double> before,
                              std::span<const double> after);

bool is_well_conditioned(const RelativeErrors& errors);
bool is_accepted(const RelativeErrors& errors, DataType type, const AccuracyPolicy& policy);
/// Returns "error 3e-06 of the largest value, where the original's own is 2e-07".
std::string describe(const RelativeErrors& errors, DataType type);

}  // namespace rulemill::optimize
