// The subcommands of `rulemill operators` that have files of their own.
#pragma once

#include "cli/command.h"

namespace rulemill::cli {

void add_operators_check(CLI::App& operators, Options& options, Command& chosen);
void add_operators_eval(CLI::App& operators, Options& options, Command& chosen);
void add_operators_import(CLI::App& operators, Options& options, Command& chosen);

}  // namespace rulemill::cli
