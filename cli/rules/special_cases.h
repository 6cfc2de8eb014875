// The rules of a database that are special cases of its general rules.
#pragma once

#include <map>
#include <string>

#include "cli/rules/rule_database.h"

namespace rulemill::cli {

/// Maps the id of each rule that equals a specialization of a general rule to the id of the most general such rule.
std::map<std::string, std::string> special_cases(Database& database);

}  // namespace rulemill::cli
