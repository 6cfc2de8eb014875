// The log of messages (spdlog): one logger on stderr, used by spdlog::info() and its variants; and the log of events.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/text/json.h"

namespace rulemill::runtime {

/// `level`: trace, debug, info, warn, error or off; throws UsageError for other words. Ranks above 0 log only warnings
/// and errors, prefixed with their rank.
void set_up_log(std::string_view level, int rank = 0);

// A log of the events of a run, for people and for `rulemill status`: one file per rank, one JSON object per line.
// Later runs in the folder append to it. No result depends on it; events that cannot be written are dropped.

inline constexpr const char* event_folder = "events";

/// Makes log_event() write to FOLDER/events/rank-NNNNN.jsonl. There is one log per process.
void open_event_log(const std::filesystem::path& folder, int rank);
/// Writes {"time": seconds since 1970, "event": event, ...fields}; does nothing if no log is open. Thread-safe.
void log_event(const std::string& event, const Json& fields = Json::object());

}  // namespace rulemill::runtime
