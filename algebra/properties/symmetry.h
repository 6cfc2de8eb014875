// Whether an operator is commutative by its definition: with the inputs, and the sizes that they bind, exchanged, its
// type rule and outputs multiply out to the same form, and its partial functions have the same arguments.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "algebra/operators/function.h"
#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

/// Returns nullopt if exchanging the two inputs is shown to change neither types nor values; otherwise the reason.
std::optional<std::string> find_asymmetry(const OperatorInstance& instance, std::span<const Function> functions);

}  // namespace rulemill::algebra
