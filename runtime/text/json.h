// JSON values and texts. Objects keep the order of their keys.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/text/attributes.h"

namespace rulemill::runtime {

using Json = nlohmann::ordered_json;

/// One JSON object.
Json to_json(const Attributes& attributes);
/// Reads unsigned integers as counts and all other numbers as floating point. Throws Json::exception for other values.
Attributes to_attributes(const Json& object);

/// Throws InputError with origin:line:column if the text is not JSON or is nested too deeply.
Json parse_json(const std::string& text, const std::string& origin);

}  // namespace rulemill::runtime
