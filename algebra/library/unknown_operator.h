// The message about a name that is no operator.
#pragma once

#include <string>
#include <vector>

namespace rulemill::algebra {

/// Suggests the operators that are close, or says where all are listed.
std::string unknown_operator(const std::string& name, const std::vector<std::string>& operators);

}  // namespace rulemill::algebra
