#include "optimize/verify/accuracy_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "optimize/model/rounding.h"

namespace rulemill::optimize {
void RelativeErrors::merge(const RelativeErrors& other) {
  if (other.after > after) worst_element = other.worst_element;
  before = std::max(before, other.before);
  after = std::max(after, other.after);
  difference = std::max(difference, other.difference);
  same_nonfinite_positions = same_nonfinite_positions && other.same_nonfinite_positions;
}

RelativeErrors measure_errors(std::span<const double> reference, std::span<const double> before,
                              std::span<const double> after) {
  double scale = 1e-300;
  for (const double value : reference) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  }
  RelativeErrors errors;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double a = before[i], b = after[i];
    if (!(std::isnan(a) ? std::isnan(b) : std::isinf(a) || std::isinf(b) ? a == b : !std::isnan(b))) {
      if (errors.same_nonfinite_positions) errors.worst_element = i;
      errors.same_nonfinite_positions = false;
    }
    if (!std::isfinite(before[i]) || !std::isfinite(after[i])) continue;
    errors.difference = std::max(errors.difference, std::fabs(before[i] - after[i]) / scale);
    if (!std::isfinite(reference[i])) continue;
    errors.before = std::max(errors.before, std::fabs(before[i] - reference[i]) / scale);
    const double error = std::fabs(after[i] - reference[i]) / scale;
    if (error > errors.after && errors.same_nonfinite_positions) errors.worst_element = i;
    errors.after = std::max(errors.after, error);
  }
  return errors;
}

bool is_well_conditioned(const RelativeErrors& errors) { return errors.before <= max_original_error; }

bool is_accepted(const RelativeErrors& errors, DataType type, const AccuracyPolicy& policy) {
  if (!errors.same_nonfinite_positions) return false;
  if (unit_roundoff(type) == 0) return errors.difference == 0 || errors.after == 0;
  if (type == DataType::Float64) {
    return errors.difference <= policy.tolerance * unit_roundoff(DataType::Float64) / unit_roundoff(DataType::Float32);
  }
  if (!is_well_conditioned(errors)) return errors.difference <= policy.tolerance;
  return errors.after <= policy.max_error_ratio * (errors.before + unit_roundoff(type));
}

std::string describe(const RelativeErrors& errors, DataType type) {
  if (!errors.same_nonfinite_positions) return "NaN or infinity at other places";
  if (type == DataType::Float64 || !is_well_conditioned(errors)) {
    return fmt::format("differs by {:.2g} of the largest value", errors.difference);
  }
  return fmt::format("error {:.2g} of the largest value, where the original's own is {:.2g}", errors.after,
                     errors.before);
}

}  // namespace rulemill::optimize
