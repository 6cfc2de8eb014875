// The default rules of `optimize`: those that `discover` finds for the profiles in data/profiles/models, and their
// general forms; for a runtime with operators of its own, those of data/profiles/RUNTIME, too. They are made on first
// use and kept in the user's cache folder under a digest of definitions, profiles and program. A packed rulemill
// includes those of data/profiles/models.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "runtime/files/scratch_folder.h"

namespace rulemill::cli {

/// Runs `rulemill discover` with this tier of --generalize. Returns why it failed, empty if it did not.
std::string run_discovery(const std::filesystem::path& profile, const std::filesystem::path& definitions,
                          const std::filesystem::path& out, const std::string& generalized, double seconds);

struct DefaultRules {
  std::filesystem::path database;
  std::shared_ptr<const runtime::ScratchFolder> folder;  // that has the database if the cache folder cannot; else null
};

/// Returns the database, after making it if it does not exist or is damaged. If the cache folder cannot be written to,
/// it is made for this run only, with a warning. Throws Error if it cannot be made.
DefaultRules default_rules(const Context& context);

/// The same for rules into the operators of a runtime; nullopt if no profiles lead to them.
std::optional<DefaultRules> runtime_rules(const Context& context, const std::string& runtime);

/// `rulemill rules default`: prints the path, after making the database if it does not exist.
void add_rules_default(CLI::App& rules, Options& options, Command& chosen);

}  // namespace rulemill::cli
