// Completion in a shell: what can stand for a word of a command line. The scripts in data/completion ask for it.
#pragma once

#include <string>
#include <vector>

#include "cli/manual/command_table.h"

namespace rulemill::cli {

/// Returns what can stand for the last of the words after the program's name: a line "file", "folder" or "" for the
/// kind of paths, then a line "WORD" or "WORD\tDESCRIPTION" for each word. The `=` of --option=value is a word of its
/// own.
std::string completions(const CommandEntry& root, const std::vector<std::string>& words);

}  // namespace rulemill::cli
