// Configures spdlog: one logger on stderr. Log with spdlog::info() and its variants.
#pragma once

#include <string_view>

namespace rulemill::runtime {

/// `level`: trace, debug, info, warn, error or off; throws UsageError for other words. Ranks above 0 log only warnings
/// and errors, prefixed with their rank.
void set_up_log(std::string_view level, int rank = 0);

}  // namespace rulemill::runtime
