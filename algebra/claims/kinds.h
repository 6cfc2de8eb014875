// Whether outputs that are declared to be truths, integers or positives are: read off the definition, given that inputs
// are what they are declared to be. Sufficient, not necessary.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "algebra/language/function.h"
#include "algebra/language/instance.h"

namespace rulemill::algebra {

/// What stands against it, of the first output that is not shown to be what it is declared to be.
std::optional<std::string> other_kind(const Instance& instance, std::span<const Function> functions);

}  // namespace rulemill::algebra
