#include "cli/number_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/manual/command_table.h"
#include "runtime/text/unknown_name.h"

namespace rulemill::cli {
namespace {

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// The factor of a unit of bytes: k and kb are 1000, ki and kib 1024, and so on.
std::optional<std::uint64_t> unit_factor(std::string unit) {
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (unit.empty() || unit == "b") return 1;
  std::uint64_t decimal = 1, binary = 1;
  for (const char letter : std::string_view("kmgtpe")) {
    decimal *= 1000;
    binary *= 1024;
    if (unit[0] != letter) continue;
    const std::string_view rest = std::string_view(unit).substr(1);
    if (rest.empty() || rest == "b") return decimal;
    if (rest == "i" || rest == "ib") return binary;
  }
  return std::nullopt;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t min, std::uint64_t max) {
  const bool bounded = max != std::numeric_limits<std::uint64_t>::max();
  const std::string range = bounded ? fmt::format("a whole number from {} to {}", min, max)
                                    : fmt::format("a whole number from {} to 2^64 - 1", min);
  return CLI::Validator(
      [=](std::string& text) {
        const auto value = parse_whole<std::uint64_t>(text);
        return value && *value >= min && *value <= max ? std::string() : "'" + text + "' is not " + range;
      },
      "N");
}

CLI::Validator real_number(double min, double max) {
  const std::string range = max == std::numeric_limits<double>::max()
                                ? fmt::format("a finite number of {} or more", min)
                                : fmt::format("a number from {} to {}", min, max);
  return CLI::Validator(
      [=](std::string& text) {
        const auto value = parse_whole<double>(text);
        const bool fits = value && std::isfinite(*value) && *value >= min && *value <= max;
        return fits ? std::string() : "'" + text + "' is not " + range;
      },
      "NUMBER");
}

CLI::Validator memory_size() {
  return CLI::Validator(
      [](std::string& text) {
        const std::size_t digits = std::min(text.size(), text.find_first_not_of("0123456789"));
        const std::size_t unit = std::min(text.size(), text.find_first_not_of(' ', digits));
        const auto count = parse_whole<std::uint64_t>(std::string_view(text).substr(0, digits));
        const auto factor = unit_factor(text.substr(unit));
        if (!count || !factor || *count > std::numeric_limits<std::uint64_t>::max() / *factor) {
          return "'" + text + "' is not a memory size; expected one like 4GB or 512MiB";
        }
        text = std::to_string(*count * *factor);
        return std::string();
      },
      "SIZE");
}

CLI::Validator one_of(std::string kind, std::vector<std::string> words) {
  const std::string description = describe_choices(words);
  return CLI::Validator(
      [kind = std::move(kind), words = std::move(words)](std::string& text) {
        const bool known = std::ranges::find(words, text) != words.end();
        return known ? std::string() : runtime::unknown_name(kind, text, words);
      },
      description);
}

}  // namespace rulemill::cli
