// Exports rules to TASO's protobuf form. The form has neither shapes nor conditions, and only the operators of a table.
#pragma once

#include <vector>

#include "algebra/exchange/exported_rules.h"
#include "algebra/exchange/taso_table.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Exports typed rules. Skips a rule if parsing its exported form does not give it back.
ExportedRules write_taso_rules(const std::vector<Rule>& rules, const TasoTable& table, Library& library, TermBank& bank,
                               Symbols& symbols);

}  // namespace rulemill::algebra
