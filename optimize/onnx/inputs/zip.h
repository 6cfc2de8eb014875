// The files in a zip archive, as far as NumPy writes it: stored or deflated, at most 4 GB each.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace rulemill::optimize {

/// Returns the content of each file by name, verified by its checksum. `place` is the archive in messages. Throws
/// InputError.
std::map<std::string, std::string> parse_zip(std::string_view bytes, const std::string& place);

}  // namespace rulemill::optimize
