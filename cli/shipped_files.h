// The folders that ship with the program, and pages made from them.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/text/json.h"

namespace rulemill::cli {

/// Returns the folder of data files: $RULEMILL_DATA, `data` of the source tree, or `share/rulemill` of a packed folder.
/// Throws UsageError if there is none.
std::filesystem::path data_folder();
/// Returns another folder that ships with the program, such as "pages": in `share/rulemill` of a packed folder, next to
/// `data` in the source tree. If there is none in or next to $RULEMILL_DATA, it is looked for near the program.
std::filesystem::path shipped_folder(const std::string& name);

// HTML pages without external resources: the shared template, style and script, the script of one page,
// and its data.

/// Writes the page that pages/NAME.js draws from the data. Returns its size in bytes.
std::size_t write_page(const std::filesystem::path& path, const std::string& name, const runtime::Json& data);

}  // namespace rulemill::cli
