// JSON in and out of files: reports (`--json FILE`), funnel.json, manifests. Keys keep their order; files are atomic.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace rulemill::runtime {

using Json = nlohmann::ordered_json;

/// Indented, with a final newline. Throws IoError.
void write_json(const std::filesystem::path& path, const Json& value);

/// Throws IoError if it cannot be read, InputError with file:line:column if it is not JSON.
Json read_json(const std::filesystem::path& path);

}  // namespace rulemill::runtime
