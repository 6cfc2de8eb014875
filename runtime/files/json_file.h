// JSON files: reports (`--json FILE`), funnel.json, manifests. Writing is atomic.
#pragma once

#include <filesystem>

#include "runtime/text/json.h"

namespace rulemill::runtime {

/// Indented, with a final newline. Throws IoError.
void write_json(const std::filesystem::path& path, const Json& value);

/// Throws InputError as parse_json() does, IoError if the file cannot be read.
Json read_json(const std::filesystem::path& path);

}  // namespace rulemill::runtime
