// Exports rules to TASO's protobuf form. The form has neither shapes nor conditions, and only the operators of a table.
#pragma once

#include <string>
#include <vector>

#include "algebra/exchange/taso_table.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// A rule that a form cannot express, and why.
struct SkippedRule {
  std::string rule, reason;
};

/// Rules as the program text of another system.
struct ExportedRules {
  std::string text;
  std::vector<std::string> written;  // names of the rules, in the file's order
  std::vector<SkippedRule> skipped;
};

/// Exports typed rules. Skips a rule if parsing its exported form does not give it back.
ExportedRules write_taso_rules(const std::vector<Rule>& rules, const TasoTable& table, Library& library, TermBank& bank,
                               Symbols& symbols);

}  // namespace rulemill::algebra
