// The readings of a rule without ranks: the rule at each assignment of ranks that fits, or in general form.
#pragma once

#include <vector>

#include "algebra/exchange/egg/rule_template.h"
#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Returns the rule at each assignment of ranks from 0 to 4 that fits, lowest first. Readings that are specializations
/// of one general form are replaced by that form, with dimension packs. Without stated shapes, infers split positions
/// and leaves the types to be inferred. Throws InputError if no ranks fit, or too many do.
std::vector<Rule> readings_of(const RuleTemplate& rule, Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
