// Numbers formatted for people: 18,112,649; 1.3 GiB; 2.41 s. All shown sizes and times are formatted here.
#pragma once

#include <cstdint>
#include <string>

namespace rulemill::runtime {

/// "18,112,649".
std::string format_count(std::uint64_t value);
/// "512 B", "193.5 KiB", "1.3 GiB".
std::string format_bytes(std::uint64_t bytes);
/// "43.6 us", "2.41 ms", "2.41 s", "3 min 20 s", "5 h 12 min".
std::string format_seconds(double seconds);

}  // namespace rulemill::runtime
