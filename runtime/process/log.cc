#include "runtime/process/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

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

namespace {

constexpr const char* logger_name = "events";

}  // namespace

void open_event_log(const std::filesystem::path& folder, int rank) {
  const auto file = folder / event_folder / fmt::format("rank-{:05}.jsonl", rank);
  spdlog::drop(logger_name);
  try {
    auto logger = std::make_shared<spdlog::logger>(
        logger_name, std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string(), false));
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::info);
    logger->flush_on(spdlog::level::info);
    logger->set_error_handler([](const std::string&) {});
    spdlog::register_logger(std::move(logger));
  } catch (const spdlog::spdlog_ex&) {
    // The run itself reports a folder that cannot be written to.
  }
}

void log_event(const std::string& event, const Json& fields) {
  const auto logger = spdlog::get(logger_name);
  if (!logger) return;
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  Json line = {{"time", std::round(now * 1e3) / 1e3}, {"event", event}};
  for (const auto& [key, value] : fields.items()) line[key] = value;
  logger->log(spdlog::level::info, "{}", to_utf8_text(line));
}

}  // namespace rulemill::runtime
