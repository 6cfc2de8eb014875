// Manual pages, in the man macros of roff.
#pragma once

#include <string>

#include "cli/manual/command_table.h"

namespace rulemill::cli {

/// "rulemill-rules-list".
std::string manual_page_name(const CommandEntry& command);
/// The page of a command. `root` is the program, to whose page it refers.
std::string manual_page(const CommandEntry& command, const CommandEntry& root);

}  // namespace rulemill::cli
