// The folder for caches that are kept between runs.
#pragma once

#include <filesystem>

namespace rulemill::runtime {

/// Returns $RULEMILL_CACHE, $XDG_CACHE_HOME/rulemill or ~/.cache/rulemill; empty if none of the variables is set.
std::filesystem::path cache_folder();

/// Returns the same, after creating it; empty, after logging a warning, if it cannot be written to.
std::filesystem::path writable_cache_folder();

}  // namespace rulemill::runtime
