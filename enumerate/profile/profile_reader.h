// Reads profiles from TOML. Every error message has file:line:column.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "enumerate/profile/profile.h"

namespace rulemill::enumerate {

/// Throws InputError for an invalid profile, IoError if the file cannot be read.
Profile load_profile(const std::filesystem::path& path, const algebra::Library& library);
/// `origin`: the file name for error messages. Throws InputError.
Profile parse_profile(std::string_view text, const std::string& origin, const algebra::Library& library);

}  // namespace rulemill::enumerate
