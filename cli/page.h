// HTML pages without external resources: the shared template, style and script, the script of one page,
// and its data.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/text/json.h"

namespace rulemill::cli {

/// Writes the page that pages/NAME.js draws from the data. Returns its size in bytes.
std::size_t write_page(const std::filesystem::path& path, const std::string& name, const runtime::Json& data);

}  // namespace rulemill::cli
