// Positions that a rule without shapes leaves open. Where another program wrote a split without saying where, it meant
// the place at which the nearest concatenation below ended its first argument.
#pragma once

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Adds to the rule's condition, for each size parameter that no other size determines and that cuts an axis, its
/// equality with the boundary on that axis, if there is one. The rule is returned as it was if it does not type.
Rule with_positions(const Rule& rule, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
