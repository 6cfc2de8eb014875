// Merges the candidates of several profiles.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::dedup {

inline constexpr const char* merge_stage = "merge";

/// Writes the distinct candidates of all folders to `out`/candidates.rules, those of core rules first, adds the file to
/// the manifest, and returns their number. The folders must have rules. Called on the first rank only.
std::uint64_t merge_profiles(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& out,
                             algebra::Library& library);

}  // namespace rulemill::dedup
