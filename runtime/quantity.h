// Quantities as people read them: 18,112,649; 1.3 GB; 2.41 s.
#pragma once

#include <cstdint>
#include <string>

namespace rulemill::runtime {

std::string with_commas(std::uint64_t value);
/// Decimal units, two or three digits: "512 B", "1.3 GB".
std::string in_bytes(std::uint64_t bytes);
/// "0.41 ms", "2.41 s", "3 min 20 s", "5 h 12 min".
std::string in_seconds(double seconds);

}  // namespace rulemill::runtime
