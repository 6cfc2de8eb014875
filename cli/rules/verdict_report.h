// The verdicts on rules that were read from files: the table, the report, and the exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "prove/import_rules.h"

namespace rulemill::cli {

/// Prints the verdicts with counterexamples and adds them to the report under `key`, "rules" or "properties".
void report_verdicts(Context& context, const std::string& key, const std::vector<prove::ImportVerdict>& verdicts,
                     const std::vector<prove::ImportPlacement>& places = {});

/// Throws InputError if a statement is unreadable or ill-typed, and Error with `where` if one is neither proved nor
/// kept.
void require_proved(const std::string& where, const std::string& key, const std::vector<prove::ImportVerdict>& verdicts,
                    bool keep_narrowed = false);

}  // namespace rulemill::cli
