// The message about a name that is not among the known ones.
#pragma once

#include <string>
#include <vector>

namespace rulemill::runtime {

/// Returns "unknown KIND 'NAME'; did you mean 'CLOSE'?" or, if no known name is close, "unknown KIND 'NAME'; known are
/// …".
std::string unknown_name(const std::string& kind, const std::string& name, const std::vector<std::string>& known);

}  // namespace rulemill::runtime
