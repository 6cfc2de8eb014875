// Rules as programs of other systems: which rules of a database are exported, in which direction.
#pragma once

#include <string>
#include <vector>

#include "algebra/exchange/exported_rules.h"
#include "cli/rules/rule_database.h"

namespace rulemill::cli {

struct ProgramOptions {
  std::string format;  // "onnxscript", "pdl" or "egglog"
  std::string title;
  /// onnxscript, pdl: all directions that can be matched, not only the one that reduces the cost at all sizes
  /// (costs_at_samples). egglog: also the derived rules.
  bool all = false;
  std::string goals;  // egglog: a rule file (read_rule_file) whose sides are added; empty: none
};

/// Exports the records, by a helper process (ExchangeProcess). Throws InputError for an unreadable goal.
algebra::ExportedRules export_program(const std::vector<algebra::RuleRecord>& records, const ProgramOptions& options,
                                      Database& database);

}  // namespace rulemill::cli
