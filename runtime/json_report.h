// JSON in and out of files: reports (`--json FILE`), funnel.json, manifests. Keys keep their order; files are atomic.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/attributes.h"

namespace rulemill::runtime {

using Json = nlohmann::ordered_json;

/// One object, and back: text, counts, and other numbers as figures. Throws Json::exception for anything else.
Json to_json(const Attributes& attributes);
Attributes to_attributes(const Json& object);

/// Indented, with a final newline. Throws IoError.
void write_json(const std::filesystem::path& path, const Json& value);

/// Throws InputError with origin:line:column if it is not JSON or is nested too deep.
Json parse_json(const std::string& text, const std::string& origin);
/// The same of a file. Throws IoError, too, if it cannot be read.
Json read_json(const std::filesystem::path& path);

}  // namespace rulemill::runtime
