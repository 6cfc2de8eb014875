// Properties derived from definitions by signs only (sufficient, not necessary): whether an operator's outputs are
// exactly the positive tensors, which outputs are positive if some inputs are, and whether it is defined everywhere, or
// undefined where its inputs are.
#pragma once

#include <optional>
#include <span>
#include <string>
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

/// Returns the name of a function that the instance may apply outside the function's domain; none if there is none.
std::optional<std::string> find_function_outside_domain(const OperatorInstance& instance,
                                                        std::span<const Function> functions);

/// What a program may compute where a value is undefined: no number, or one that may be infinite or 0 of either sign.
enum class Undefined : std::uint8_t { NaN, Any };

/// Returns true if all that is computed from an element of this kind is real, and of this kind too or the same for both
/// zeros: an exponential or a quotient makes a finite number of an infinite one.
bool keeps_undefined(const OperatorInstance& instance, std::span<const Function> functions, Undefined kind);

}  // namespace rulemill::algebra
