// Integers from JSON. The library's own conversions wrap numbers that do not fit and are undefined beyond 64 bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/text/json.h"

namespace rulemill::runtime {

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
