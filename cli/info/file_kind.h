// The kinds of files and folders of rulemill, besides models and tables.
#pragma once

#include <filesystem>

#include "cli/command.h"
#include "cli/info/file_description.h"

namespace rulemill::cli {

/// Describes a file or folder. Throws InputError if rulemill neither reads nor writes such files, or if it is damaged.
FileDescription describe_file(const std::filesystem::path& path, const Options& options);

}  // namespace rulemill::cli
