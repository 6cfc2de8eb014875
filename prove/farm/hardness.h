// How hard a proof may be, before it is tried: an estimate from the rule alone, so that hard ones can be begun first.
#pragma once

#include "algebra/terms/term.h"

namespace rulemill::prove {

/// Roughly milliseconds. An operator's share is what its definition has of indices, cases and conditions; they multiply
/// where operators stand on each other.
double hardness(const algebra::Rule& rule, const algebra::TermBank& bank);

}  // namespace rulemill::prove
