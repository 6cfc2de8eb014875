#include "runtime/process/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>

#include "runtime/process/terminal.h"
#include "runtime/text/error.h"

namespace rulemill::runtime {

void set_up_log(std::string_view level, int rank) {
  constexpr std::string_view words[] = {"trace", "debug", "info", "warn", "error", "off"};
  if (std::find(std::begin(words), std::end(words), level) == std::end(words)) {
    throw UsageError("--log-level",
                     "unknown level '" + std::string(level) + "'; expected trace, debug, info, warn, error or off");
  }
  auto wanted = spdlog::level::from_str(level == "warn" ? "warning" : std::string(level));
  if (rank > 0) wanted = std::max(wanted, spdlog::level::warn);
  const auto colours = shows_colours(stderr) ? spdlog::color_mode::always : spdlog::color_mode::never;
  auto logger =
      std::make_shared<spdlog::logger>("rulemill", std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colours));
  logger->set_level(wanted);
  logger->set_pattern(rank > 0 ? "[%T %^%l%$] rank " + std::to_string(rank) + ": %v" : "[%T %^%l%$] %v");
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace rulemill::runtime
