// Rules as programs of other systems: which rules of a database are exported, in which direction.
#pragma once

#include <string>
#include <vector>

#include "algebra/exchange/exported_rules.h"
#include "cli/rules/rule_database.h"

namespace rulemill::cli {

/// Exports the records as a module for onnxscript's rewriter, each in the direction that reduces its cost
/// (cost_at_example). Skips rules without such a direction; with `all_directions`, exports all that can be matched.
algebra::ExportedRules export_onnxscript(const std::vector<algebra::RuleRecord>& records, bool all_directions,
                                         const std::string& title, Database& database);

}  // namespace rulemill::cli
