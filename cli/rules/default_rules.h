// The default rules of `optimize`: those that `discover` finds for the profiles in data/profiles/models, and their
// general forms. They are made on first use and kept in the user's cache folder under a digest of definitions, profiles
// and program. A packed rulemill includes them.
#pragma once

#include <filesystem>

#include "cli/command.h"

namespace rulemill::cli {

/// Returns the database, after making it if it does not exist. Throws Error if that fails.
std::filesystem::path default_rules(const Context& context);

/// `rulemill rules default`: prints the path, after making the database if it does not exist.
void add_rules_default(CLI::App& rules, Options& options, Command& chosen);

}  // namespace rulemill::cli
