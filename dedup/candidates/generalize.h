// Generalizes a candidate as far as it passes an equality test.
#pragma once

#include "dedup/candidates/equality_test.h"

namespace rulemill::dedup {

/// Replaces subterms by variables and splits variables with several uses, as long as the candidate passes the test and
/// no side has more than max_ops nodes. Returns whether anything changed.
bool generalize(CandidateGraph& graph, EqualityTest& test, std::size_t max_ops);

}  // namespace rulemill::dedup
