// Whether an operator is commutative, shown from its definition: with the inputs, and the sizes that they bind,
// exchanged, its type rule and every output multiply out to the same form, and partial functions are applied to the
// same.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "algebra/language/function.h"
#include "algebra/language/instance.h"

namespace rulemill::algebra {

/// Nothing if exchanging the two inputs is shown to change neither types nor values; otherwise what stands against it.
std::optional<std::string> asymmetry(const Instance& instance, std::span<const Function> functions);

}  // namespace rulemill::algebra
