#include "runtime/quantity.h"

#include <cstdio>

namespace rulemill::runtime {

std::string with_commas(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string in_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  constexpr const char* units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5; value /= 1000) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

std::string in_seconds(double seconds) {
  char text[48];
  if (seconds < 0.1) {
    std::snprintf(text, sizeof text, "%.2f ms", 1000 * seconds);
  } else if (seconds < 120) {
    std::snprintf(text, sizeof text, seconds < 9.995 ? "%.2f s" : "%.0f s", seconds);
  } else if (seconds < 7200) {
    const int whole = static_cast<int>(seconds);
    std::snprintf(text, sizeof text, "%d min %d s", whole / 60, whole % 60);
  } else {
    const int minutes = static_cast<int>(seconds / 60);
    std::snprintf(text, sizeof text, "%d h %d min", minutes / 60, minutes % 60);
  }
  return text;
}

}  // namespace rulemill::runtime
