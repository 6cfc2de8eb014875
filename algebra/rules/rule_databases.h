// The rules of several databases as one list.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "algebra/rules/rule_set.h"

namespace rulemill::algebra {

/// Loads databases, or folders with rules.rmdb. The ids of several databases' rules begin with their profile's name.
std::vector<RuleRecord> load_rules(std::span<const std::filesystem::path> databases, Library& library, TermBank& terms,
                                   Symbols& symbols);

}  // namespace rulemill::algebra
