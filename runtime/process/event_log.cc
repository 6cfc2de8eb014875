#include "runtime/process/event_log.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cmath>

namespace rulemill::runtime {
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
