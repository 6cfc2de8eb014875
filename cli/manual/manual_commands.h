// `rulemill completion` and `rulemill man`.
#pragma once

#include "cli/command.h"

namespace rulemill::cli {

/// Add the commands. They describe `app`, the program.
void add_completion(CLI::App& app, Command& chosen);
void add_man(CLI::App& app, Options& options, Command& chosen);

}  // namespace rulemill::cli
