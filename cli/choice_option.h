// A validator of options that take one of a few words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rulemill::cli {

/// One of the words. The message for another word suggests those that are close: "unknown device 'cqu'; …".
CLI::Validator one_of(std::string kind, std::vector<std::string> words);

}  // namespace rulemill::cli
