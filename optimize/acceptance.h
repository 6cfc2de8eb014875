// When a rewritten model counts as equal: its error against exact numbers is at most a few times the original's own,
// which every model has that computes in short numbers. The definitions and onnxruntime judge by the same figures.
#pragma once

#include <span>
#include <string>

#include "optimize/graph.h"

namespace rulemill::optimize {

struct Acceptance {
  /// error after <= own_error * (error before + one rounding of the type), all of the largest value
  double own_error = 4;
  /// Largest difference where exact values cannot judge: of float64, which is as exact as they are, scaled to its
  /// roundings, and of originals that compute noise.
  double tolerance = 1e-4;
};
/// An original that is further off computes noise: such numbers are compared with each other, not with exact ones.
constexpr double most_own_error = 0.05;
/// Of so few elements the original's error may be small by luck: what counts is the largest over all inputs.
constexpr std::size_t few_elements = 64;

/// Relative to the largest of the exact values.
struct Errors {
  double before = 0, after = 0;  // against the exact values
  double difference = 0;         // of the two
  std::size_t worst = 0;         // the element at which `after` is furthest off
  bool same_places = true;       // of NaN and infinity, before and after

  void take_larger(const Errors& other);
};

Errors errors_of(std::span<const double> exact, std::span<const double> before, std::span<const double> after);

/// The original is so near to the exact values that they can judge.
bool well_conditioned(const Errors& errors);
bool accepted(const Errors& errors, Element element, const Acceptance& acceptance);
/// How it stands: "error 3e-06 where the original has 2e-07".
std::string text_of(const Errors& errors, Element element);

}  // namespace rulemill::optimize
