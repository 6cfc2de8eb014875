// Searches numerically for a counterexample to a law of a scalar function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algebra/operators/function.h"

namespace rulemill::algebra {

/// Tests the law at thousands of values of all magnitudes and signs, with bounds of rounding errors. Returns the first
/// counterexample as text, such as "f(2) = 4, f(f(2)) = 8".
std::optional<std::string> find_counterexample(const Function& function, Law law);

/// Numbers of all magnitudes and signs, round ones, those near the function's constants, and random ones.
std::vector<double> sample_numbers(const Function& function, int random_count);

}  // namespace rulemill::algebra
