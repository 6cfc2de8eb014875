// Rules as programs of other systems: which rules of a database are exported, in which direction.
#pragma once

#include <string>
#include <vector>

#include "algebra/exchange/exported_rules.h"
#include "cli/rules/rule_database.h"

namespace rulemill::cli {

/// Exports the records as a module for onnxscript's rewriter, each in the direction that reduces its cost
/// at all sizes (costs_at_samples). Skips rules without such a direction; with `all_directions`, exports all that can
/// be matched.
algebra::ExportedRules export_onnxscript(const std::vector<algebra::RuleRecord>& records, bool all_directions,
                                         const std::string& title, Database& database);

/// Exports the records as MLIR patterns on StableHLO, in the same directions as export_onnxscript.
algebra::ExportedRules export_pdl(const std::vector<algebra::RuleRecord>& records, bool all_directions,
                                  const std::string& title, Database& database);

/// Exports the records of the core, or with `derived_rules` all, as an egglog program that ends with the goals of a
/// rule file (read_rule_file) if one is given. Records without tiers count as core.
algebra::ExportedRules export_egglog(const std::vector<algebra::RuleRecord>& records, bool derived_rules,
                                     const std::string& goals_file, const std::string& title, Database& database);

}  // namespace rulemill::cli
