// Validators of options that take a number or one of a few words. Numbers are decimal and ones that the type can
// represent: no other text after the number, no overflow, no other base and no NaN.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rulemill::cli {

/// An integer within [min, max].
CLI::Validator whole_number(std::uint64_t min = 0, std::uint64_t max = std::numeric_limits<std::uint64_t>::max());

/// A finite number within [min, max].
CLI::Validator real_number(double min, double max = std::numeric_limits<double>::max());

/// Bytes as "4GB" (units of 1000), "512 MiB" (units of 1024) or digits; transforms the text to digits.
CLI::Validator memory_size();

/// One of the words. The message for another word suggests those that are close: "unknown device 'cqu'; …".
CLI::Validator one_of(std::string kind, std::vector<std::string> words);

}  // namespace rulemill::cli
