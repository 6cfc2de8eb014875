// Positivity derived from definitions: whether an operator's outputs are exactly the positive tensors, and which
// outputs are positive if some inputs are. The tests use signs only: sufficient, not necessary.
#pragma once

#include <span>
#include <vector>

#include "algebra/operators/function.h"
#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

/// Whether the instance is y[i...] = exp(x[i...]) for its one input, whose dimensions are free. The values of exp are
/// the positive numbers, each taken once, so the possible outputs are exactly the positive tensors.
bool is_elementwise_exp(const OperatorInstance& instance, std::span<const Function> functions);

/// For each output whether all its elements are positive, wherever defined, if those of `positive_inputs` are.
std::vector<bool> positive_outputs(const OperatorInstance& instance, std::span<const Function> functions,
                                   const std::vector<bool>& positive_inputs);

}  // namespace rulemill::algebra
