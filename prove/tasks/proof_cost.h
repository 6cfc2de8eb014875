// An estimate of a proof's cost from the rule alone, so that expensive proofs can be started first.
#pragma once

#include "algebra/terms/term.h"

namespace rulemill::prove {

/// Returns roughly milliseconds. A node's factor depends on the indices, cases and conditions of its definition; the
/// factors of all nodes are multiplied.
double estimated_cost(const algebra::Rule& rule, const algebra::TermBank& bank);

}  // namespace rulemill::prove
