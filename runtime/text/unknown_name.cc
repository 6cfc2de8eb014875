#include "runtime/text/unknown_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <utility>

namespace rulemill::runtime {
namespace {

constexpr std::size_t max_suggestions = 3, max_listed = 16;

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> close_names(const std::string& name, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> close;  // by distance
  for (const std::string& other : known) {
    const bool is_prefix =
        (name.size() >= 3 && other.starts_with(name)) || (other.size() >= 3 && name.starts_with(other));
    const std::size_t distance = edit_distance(name, other);
    if (is_prefix || distance <= std::max<std::size_t>(1, name.size() / 3)) close.emplace_back(distance, other);
  }
  std::ranges::stable_sort(close, {}, &std::pair<std::size_t, std::string>::first);
  if (close.size() > max_suggestions) close.resize(max_suggestions);
  std::vector<std::string> quoted;
  for (const auto& [distance, other] : close) quoted.push_back("'" + other + "'");
  return quoted;
}

std::string unknown_name(const std::string& kind, const std::string& name, const std::vector<std::string>& known,
                         const std::string& listing) {
  const std::vector<std::string> close = close_names(name, known);
  if (!close.empty()) return fmt::format("unknown {} '{}'; did you mean {}?", kind, name, fmt::join(close, " or "));
  if (known.size() <= max_listed)
    return fmt::format("unknown {} '{}'; known are {}", kind, name, fmt::join(known, ", "));
  return fmt::format("unknown {} '{}'; none of the {} known ones is close{}", kind, name, known.size(),
                     listing.empty() ? "" : ", see " + listing);
}

}  // namespace rulemill::runtime
