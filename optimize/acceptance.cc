#include "optimize/acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "optimize/rounding.h"

namespace rulemill::optimize {

namespace {

bool same_place(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::isinf(a) || std::isinf(b) ? a == b : !std::isnan(b);
}

}  // namespace

void Errors::take_larger(const Errors& other) {
  if (other.after > after) worst = other.worst;
  before = std::max(before, other.before);
  after = std::max(after, other.after);
  difference = std::max(difference, other.difference);
  same_places = same_places && other.same_places;
}

Errors errors_of(std::span<const double> exact, std::span<const double> before, std::span<const double> after) {
  double scale = 1e-300;
  for (const double value : exact) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  }
  Errors errors;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!same_place(before[i], after[i])) {
      if (errors.same_places) errors.worst = i;
      errors.same_places = false;
    }
    if (!std::isfinite(before[i]) || !std::isfinite(after[i])) continue;
    errors.difference = std::max(errors.difference, std::fabs(before[i] - after[i]) / scale);
    if (!std::isfinite(exact[i])) continue;
    errors.before = std::max(errors.before, std::fabs(before[i] - exact[i]) / scale);
    const double error = std::fabs(after[i] - exact[i]) / scale;
    if (error > errors.after && errors.same_places) errors.worst = i;
    errors.after = std::max(errors.after, error);
  }
  return errors;
}

bool well_conditioned(const Errors& errors) { return errors.before <= most_own_error; }

bool accepted(const Errors& errors, Element element, const Acceptance& acceptance) {
  if (!errors.same_places) return false;
  if (rounding_of(element) == 0) return errors.difference == 0 || errors.after == 0;
  if (element == Element::Float64) {
    return errors.difference <= acceptance.tolerance * rounding_of(Element::Float64) / rounding_of(Element::Float32);
  }
  if (!well_conditioned(errors)) return errors.difference <= acceptance.tolerance;
  return errors.after <= acceptance.own_error * (errors.before + rounding_of(element));
}

std::string text_of(const Errors& errors, Element element) {
  if (!errors.same_places) return "NaN or infinity at other places";
  if (element == Element::Float64 || !well_conditioned(errors)) {
    return fmt::format("{:.2g} of the largest value away", errors.difference);
  }
  return fmt::format("error {:.2g} of the largest value, where the original's own is {:.2g}", errors.after,
                     errors.before);
}

}  // namespace rulemill::optimize
