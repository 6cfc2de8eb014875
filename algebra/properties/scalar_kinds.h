// Checks the declared scalar kinds of outputs (Bool, Int, Positive) against the definition, given the declared kinds of
// the inputs. The test is sufficient, not necessary.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "algebra/operators/function.h"
#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

/// The error message for the first output that is not shown to have its declared kind; nullopt if all are.
std::optional<std::string> find_kind_mismatch(const OperatorInstance& instance, std::span<const Function> functions);

}  // namespace rulemill::algebra
