// What happens in a run, for people and for `rulemill status`: a JSON object a line, a file a rank, begun by the first
// run in a folder and continued by those after it. No result depends on it, and what cannot be written is left out.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/json_report.h"

namespace rulemill::runtime {

inline constexpr const char* event_folder = "events";

/// From now on, log_event() writes to FOLDER/events/rank-NNNNN.jsonl. Like spdlog's default logger, one a process.
void open_event_log(const std::filesystem::path& folder, int rank);
/// {"time": seconds since 1970, "event": what, ...facts}. Does nothing if no log was opened. Any thread.
void log_event(const std::string& what, const Json& facts = Json::object());

}  // namespace rulemill::runtime
