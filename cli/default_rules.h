// The rules that `optimize` uses by itself: what `discover` finds for the profiles of data/profiles/models, proved and
// pruned together, and their general forms. Made on first use and kept in the user's cache folder under the digest of
// definitions, profiles and program; a packed rulemill brings them along.
#pragma once

#include <filesystem>

#include "cli/command.h"

namespace rulemill::cli {

/// The database; it is made if it is not there yet. Throws Error if it cannot be.
std::filesystem::path default_rules(const Context& context);

/// `rulemill rules default`: makes it, or says where it is.
void add_rules_default(CLI::App& rules, Options& options, Command& chosen);

}  // namespace rulemill::cli
