// What is positive by what it is made of: an operator whose output is of positives, and outputs that are positive where
// some inputs are. By the signs of formulas alone: sufficient, not necessary.
#pragma once

#include <span>
#include <vector>

#include "algebra/language/function.h"
#include "algebra/language/instance.h"

namespace rulemill::algebra {

/// Whether the instance is y[i...] = exp(x[i...]) of its one input, whose dimensions are free: exp takes each positive
/// value once, and no other, so its output can be any positive tensor and nothing else.
bool gives_any_positives(const Instance& instance, std::span<const Function> functions);

/// By output: whether all its elements are positive, wherever it is defined, if `positive_inputs` are.
std::vector<bool> positive_outputs(const Instance& instance, std::span<const Function> functions,
                                   const std::vector<bool>& positive_inputs);

}  // namespace rulemill::algebra
