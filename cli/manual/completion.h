// Completion scripts for bash, zsh and fish.
#pragma once

#include <string>

#include "cli/manual/command_table.h"

namespace rulemill::cli {

std::string bash_completion(const CommandEntry& root);
std::string zsh_completion(const CommandEntry& root);
std::string fish_completion(const CommandEntry& root);

}  // namespace rulemill::cli
