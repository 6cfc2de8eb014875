// Options that are numbers, read strictly: all of the text is one decimal number that its type can hold. What would be
// cut, wrapped, read in another base or compared with nothing (NaN) is wrong usage.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace rulemill::cli {

/// Decimal digits alone, within [least, most].
CLI::Validator whole_number(std::uint64_t least = 0, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// A finite decimal number within [least, most].
CLI::Validator real_number(double least, double most = std::numeric_limits<double>::max());

/// Bytes as people write them, "4GB" (of 1000), "512 MiB" (of 1024) or plain digits; becomes the digits.
CLI::Validator memory_size();

}  // namespace rulemill::cli
