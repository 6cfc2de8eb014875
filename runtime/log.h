// Sets up spdlog: one logger on stderr, quiet on every rank but the first. Use spdlog::info and its siblings elsewhere.
#pragma once

#include <string_view>

namespace rulemill::runtime {

/// level: trace, debug, info, warn, error, off. Throws UsageError on another word. Ranks above 0 log warnings and
/// worse, with their rank in front.
void set_up_log(std::string_view level, int rank = 0);

}  // namespace rulemill::runtime
