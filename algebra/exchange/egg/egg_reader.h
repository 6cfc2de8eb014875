// Rules in the forms of egg and egglog (egg_statements.h for rules, egg_translation.h for terms).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/terms/rule_text.h"

namespace rulemill::algebra {

/// Whether a file is read in this form: its extension is .egg.
bool is_egg_file(const std::filesystem::path& file);

/// Parses rules in these forms. Several readings of a rule (readings_of) are named NAME_1, NAME_2, … An error within a
/// rule becomes its problem.
std::vector<ImportedRule> parse_egg_rules(std::string_view text, const std::string& origin, Library& library,
                                          TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
