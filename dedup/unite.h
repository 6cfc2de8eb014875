// The candidates of several profiles as those of one: each once, first those that are core in theirs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::dedup {

inline constexpr const char* unite_stage = "unite";

/// Writes `out`/candidates.rules from those of folders, whose rules are known, and lists it; how many there are. On the
/// first rank.
std::uint64_t unite(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& out,
                    algebra::Library& library);

}  // namespace rulemill::dedup
