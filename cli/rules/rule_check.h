// The check of the rules that shaped a result of `optimize`.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "algebra/rules/rule_set.h"

namespace rulemill::cli {

/// Checks the certificates of these rules of a loaded database, and of the rules that their derivations use. A label
/// such as "core" proves nothing: the statement of a rule may have been altered. Throws InputError that names the first
/// invalid rule.
void require_valid_certificates(const std::filesystem::path& database, const algebra::RuleSet& rules,
                                const std::set<std::string>& ids, algebra::Library& library, algebra::TermBank& bank,
                                algebra::Symbols& symbols);

}  // namespace rulemill::cli
