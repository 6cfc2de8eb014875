// JSON values and texts. Objects keep the order of their keys.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Integers from JSON. The library's own conversions wrap numbers that do not fit and are undefined beyond 64 bits.

/// Throws Json::exception unless the value is an integer that T can represent.
template <class T>
T to_integer(const Json& json) {
  if (json.is_number_unsigned()) {
    if (const auto value = json.get<std::uint64_t>(); std::in_range<T>(value)) return static_cast<T>(value);
  } else if (json.is_number_integer()) {
    if (const auto value = json.get<std::int64_t>(); std::in_range<T>(value)) return static_cast<T>(value);
  }
  const std::string found = json.is_number() ? to_text(json) : json.type_name();
  throw Json::out_of_range::create(401, "expected a whole number that fits here, found " + found, &json);
}

/// Throws Json::exception unless the value is a list of such integers.
template <class T>
std::vector<T> to_integers(const Json& json) {
  if (!json.is_array()) throw Json::type_error::create(302, "expected a list of whole numbers", &json);
  std::vector<T> values;
  for (const Json& value : json) values.push_back(to_integer<T>(value));
  return values;
}

}  // namespace rulemill::runtime
