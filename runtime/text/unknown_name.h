// The message about a name that is not among the known ones.
#pragma once

#include <string>
#include <vector>

namespace rulemill::runtime {

/// Returns at most three known names that are close to the name, in quotation marks, the closest first.
std::vector<std::string> close_names(const std::string& name, const std::vector<std::string>& known);

/// Returns "unknown KIND 'NAME'; did you mean 'CLOSE'?" with at most three names. If no known name is close, all of
/// them follow if they are few; otherwise their number and where they are listed: "see LISTING".
std::string unknown_name(const std::string& kind, const std::string& name, const std::vector<std::string>& known,
                         const std::string& listing = {});

}  // namespace rulemill::runtime
