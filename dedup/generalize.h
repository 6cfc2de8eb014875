// Brings a candidate to its most general form that a trial confirms.
#pragma once

#include "dedup/trial.h"

namespace rulemill::dedup {

/// Subterms become variables, and a variable that stands in several places becomes several, as long as the equality
/// holds and no side has more than max_ops nodes. Returns whether anything changed.
bool generalize(CandidateGraph& graph, Trial& trial, std::size_t max_ops);

}  // namespace rulemill::dedup
