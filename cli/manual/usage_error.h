// Messages about wrong command lines.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/text/error.h"

namespace rulemill::cli {

/// Throws UsageError if the parsed command line names a subcommand that does not exist.
void require_known_subcommand(const CLI::App& app);

/// Describes the error of parsing the command line: the closest known names of a misspelt one, or the missing operand.
runtime::UsageError usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace rulemill::cli
