#include "runtime/text/quantity.h"

#include <cstdio>

namespace rulemill::runtime {

std::string format_count(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95; value /= 1024) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return text;
}

std::string format_seconds(double seconds) {
  char text[48];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof text, "%.1f us", 1e6 * seconds);
  } else if (seconds < 0.1) {
    std::snprintf(text, sizeof text, "%.2f ms", 1e3 * seconds);
  } else if (seconds < 120) {
    std::snprintf(text, sizeof text, seconds < 9.995 ? "%.2f s" : "%.0f s", seconds);
  } else if (seconds < 7200) {
    const int whole_seconds = static_cast<int>(seconds);
    std::snprintf(text, sizeof text, "%d min %d s", whole_seconds / 60, whole_seconds % 60);
  } else {
    const int minutes = static_cast<int>(seconds / 60);
    std::snprintf(text, sizeof text, "%d h %d min", minutes / 60, minutes % 60);
  }
  return text;
}

}  // namespace rulemill::runtime
