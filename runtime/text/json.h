// JSON values and texts. Objects keep the order of their keys.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/text/attributes.h"

namespace rulemill::runtime {

using Json = nlohmann::ordered_json;

/// One JSON object.
Json to_json(const Attributes& attributes);
/// Reads unsigned integers as counts and all other numbers as floating point. Throws Json::exception for other values.
Attributes to_attributes(const Json& object);

// Reading and writing are compiled once, in json.cc: a call of the library's own compiles all of it where it stands.

/// Throws InputError with origin:line:column if the text is not JSON or is nested too deeply.
Json parse_json(const std::string& text, const std::string& origin);
/// Calls visit(element) for each element of a list, none of which is kept: a list may be as large as memory. Throws as
/// above, also for a value that is no list.
void for_each_element(const std::string& text, const std::string& origin,
                      const std::function<void(const Json& element)>& visit);
/// Reads what another rank or process wrote. Throws Json::exception if it is not JSON.
Json parse_json(std::string_view text);
/// Returns a discarded value, which is of no type, if the text is not JSON.
Json parse_json_or_discard(std::string_view text);

/// On one line, or indented by so many spaces. Throws Json::exception if a string is not UTF-8.
std::string to_text(const Json& json, std::optional<int> indent = std::nullopt);
/// Bytes of strings that are not UTF-8 become U+FFFD.
std::string to_utf8_text(const Json& json, std::optional<int> indent = std::nullopt);

}  // namespace rulemill::runtime
