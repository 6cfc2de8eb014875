// The text of `--help`, the tables that it shares with the manual pages, and messages about wrong command lines.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <string>

#include "cli/manual/command_table.h"
#include "runtime/text/error.h"

namespace rulemill::cli {

struct NamedText {
  const char* name;
  const char* text;
};

inline constexpr std::array exit_codes = {
    NamedText{"0", "done"},
    NamedText{"1", "failed, or a statement is not proved, a certificate not valid, two models not equal"},
    NamedText{"2", "usage error"},
    NamedText{"3", "bad input"},
    NamedText{"4", "interrupted and resumable"},
};

inline constexpr std::array environment_variables = {
    NamedText{"RULEMILL_CACHE",
              "folder for default rules and measured costs (default: $XDG_CACHE_HOME/rulemill, or ~/.cache/rulemill)"},
    NamedText{"RULEMILL_DATA", "folder of definitions, profiles and other data, if it is not beside the program"},
    NamedText{"RULEMILL_PYTHON",
              "a Python with onnxruntime, to verify and time results and to exchange rules; empty: none"},
    NamedText{"NO_COLOR", "if not empty, text on a terminal has no colours"},
};

/// The help of a command: usage, operands, options and subcommands.
std::string help_text(const CommandEntry& command);

/// Throws UsageError if the parsed command line names a subcommand that does not exist.
void require_known_subcommand(const CLI::App& app);

/// Describes the error of parsing the command line: the closest known names of a misspelt one, or the missing operand.
runtime::UsageError usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace rulemill::cli
