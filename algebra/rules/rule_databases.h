// The rules of several databases as one list.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "algebra/rules/rule_set.h"

namespace rulemill::optimize {

/// Loads databases, or folders with rules.rmdb. The ids of several databases' rules begin with their profile's name.
std::vector<algebra::RuleRecord> load_rules(std::span<const std::filesystem::path> databases, algebra::Library& library,
                                            algebra::TermBank& terms, algebra::Symbols& symbols);

}  // namespace rulemill::optimize
