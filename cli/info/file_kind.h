// The kinds of files and folders of rulemill, besides models and tables.
#pragma once

#include <filesystem>

#include "cli/command.h"

namespace rulemill::cli {

/// What `rulemill info` states about a file.
struct FileDescription {
  std::string kind;    // "rule database"
  std::string text;    // one line, after the kind
  runtime::Json json;  // what the text states
};

/// Describes a file or folder. Throws InputError if rulemill neither reads nor writes such files, or if it is damaged.
FileDescription describe_file(const std::filesystem::path& path, const Options& options);

}  // namespace rulemill::cli
