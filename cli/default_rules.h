// The rules that `optimize` uses by itself: what `discover` finds for the profiles of data/profiles/models, one
// database a profile. Each is made on first use and kept in the user's cache folder under the digest of definitions and
// profile; a packed rulemill brings them along.
#pragma once

#include <filesystem>
#include <vector>

#include "cli/command.h"

namespace rulemill::cli {

/// The databases, in the order of the profiles' names; those that are not there yet are made. Throws Error if one
/// cannot be made.
std::vector<std::filesystem::path> default_rules(const Context& context);

/// `rulemill rules default`: makes them, or says where they are.
void add_rules_default(CLI::App& rules, Options& options, Command& chosen);

}  // namespace rulemill::cli
