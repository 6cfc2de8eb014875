// The commands under `rulemill rules`, each in a file of its own.
#pragma once

#include "cli/command.h"

namespace rulemill::cli {

void add_rules_import(CLI::App& rules, Options& options, Command& chosen);

}  // namespace rulemill::cli
