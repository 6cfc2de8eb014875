// Inference of unspecified split positions of rules without shapes. In imported rules, a split without a position is at
// the end of the first argument of the nearest concatenation below.
#pragma once

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// For each size parameter that cuts an axis and that no other size determines, adds its equality with the nearest
/// boundary on that axis, if any, to the condition. Returns the rule unchanged if it does not type, or only
/// under a narrowing.
Rule infer_split_positions(const Rule& rule, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
