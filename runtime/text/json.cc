#include "runtime/text/json.h"

#include <algorithm>

namespace rulemill::runtime {

Json to_json(const Attributes& attributes) {
  Json object = Json::object();
  for (const auto& [name, value] : attributes)
    std::visit([&, &key = name](const auto& plain) { object[key] = plain; }, value);
  return object;
}

Attributes to_attributes(const Json& object) {
  Attributes attributes;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string())
      attributes[name] = value.get<std::string>();
    else if (value.is_number_unsigned())
      attributes[name] = value.get<std::uint64_t>();
    else
      attributes[name] = value.get<double>();
  }
  return attributes;
}

namespace {

constexpr int max_depth = 100;
constexpr int on_one_line = -1;  // the library's indent

/// "origin:line:column" of a byte.
std::string location(const std::string& origin, std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return origin + ":" + std::to_string(line) + ":" + std::to_string(column);
}

/// Deeply nested values would overflow the stack of recursive readers.
void check_depth(const std::string& text, const std::string& origin) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (c == '\\' && quoted) ++i;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > max_depth)
      throw InputError(location(origin, text, i), "is nested more than " + std::to_string(max_depth) + " deep");
  }
}

/// Parses text of a known origin. `filter` may drop values.
Json parse(const std::string& text, const std::string& origin, const Json::parser_callback_t& filter) {
  check_depth(text, origin);
  try {
    return Json::parse(text, filter);
  } catch (const Json::parse_error& error) {
    throw InputError(location(origin, text, error.byte == 0 ? 0 : error.byte - 1), "is not JSON here");
  } catch (const Json::out_of_range& error) {
    constexpr int number_overflow = 406;  // other errors are those of the filter
    if (error.id != number_overflow) throw;
    throw InputError(origin, "is not JSON: one of its numbers is too large");
  }
}

}  // namespace

Json parse_json(const std::string& text, const std::string& origin) { return parse(text, origin, nullptr); }

void for_each_element(const std::string& text, const std::string& origin,
                      const std::function<void(const Json& element)>& visit) {
  bool is_list = false;
  const auto drop_elements = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (depth == 0 && event == Json::parse_event_t::array_start) is_list = true;
    const bool is_complete = event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end ||
                             event == Json::parse_event_t::value;
    if (!is_list || depth != 1 || !is_complete) return true;
    visit(value);
    return false;
  };
  parse(text, origin, drop_elements);
  if (!is_list) throw InputError(origin, "expected a list");
}

Json parse_json(std::string_view text) { return Json::parse(text); }

Json parse_json_or_discard(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string to_text(const Json& json, std::optional<int> indent) { return json.dump(indent.value_or(on_one_line)); }

std::string to_utf8_text(const Json& json, std::optional<int> indent) {
  return json.dump(indent.value_or(on_one_line), ' ', false, Json::error_handler_t::replace);
}

}  // namespace rulemill::runtime
