// The subcommands of `rulemill rules`.
#pragma once

#include "cli/command.h"

namespace rulemill::cli {

void add_rules_import(CLI::App& rules, Options& options, Command& chosen);
void add_rules_export(CLI::App& rules, Options& options, Command& chosen);
void add_rules_diff(CLI::App& rules, Options& options, Command& chosen);
void add_rules_gallery(CLI::App& rules, Options& options, Command& chosen);
void add_rules_generalize(CLI::App& rules, Options& options, Command& chosen);

}  // namespace rulemill::cli
