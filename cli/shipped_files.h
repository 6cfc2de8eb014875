// The folders that ship with the program.
#pragma once

#include <filesystem>
#include <string>

namespace rulemill::cli {

/// Returns the folder of data files: $RULEMILL_DATA, `data` of the source tree, or `share/rulemill` of a packed folder.
/// Throws UsageError if there is none.
std::filesystem::path data_folder();
/// Returns another folder that ships with the program, such as "pages": in `share/rulemill` of a packed folder, next to
/// `data` in the source tree. If there is none in or next to $RULEMILL_DATA, it is looked for near the program.
std::filesystem::path shipped_folder(const std::string& name);

}  // namespace rulemill::cli
