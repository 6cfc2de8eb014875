// Generalizes a candidate, as long as the result passes an equality test.
#pragma once

#include "dedup/candidates/equality_test.h"

namespace rulemill::dedup {

/// Replaces a subterm by a variable or splits a variable with several uses, if the candidate then passes the test and
/// no side has more than max_ops nodes. Returns false if that is impossible.
bool generalize_once(CandidateGraph& graph, EqualityTest& test, std::size_t max_ops);

}  // namespace rulemill::dedup
