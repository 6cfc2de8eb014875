// Text that came from outside, made fit for one line on a terminal or in a log.
#pragma once

#include <string>
#include <string_view>

namespace rulemill::runtime {

/// Control characters become '?', and of a long text the beginning and the end are left.
std::string printable(std::string_view text, std::size_t most = 1000);

}  // namespace rulemill::runtime
