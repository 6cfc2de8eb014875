// The JSON files of rulemill.
#pragma once

#include <filesystem>
#include <string>

#include "cli/info/file_description.h"

namespace rulemill::cli {

/// Describes a JSON file that a run or `--json` wrote. Throws InputError for others.
FileDescription describe_json(const std::filesystem::path& path);
/// Describes the log of a rank's events (JSON lines).
FileDescription describe_events(const std::filesystem::path& path, const std::string& bytes);

}  // namespace rulemill::cli
