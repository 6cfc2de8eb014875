// From classes to raw candidates: the smallest member of a class with each other one, and, for nodes with several
// outputs, the terms that compute the same outputs one by one.
#pragma once

#include <vector>

#include "dedup/canonical.h"
#include "dedup/term_classes.h"

namespace rulemill::dedup {

struct RawCandidates {
  std::vector<CandidateGraph> single;
  std::vector<CandidateGraph> multi;  // two outputs or more
};

/// Collective. `classes` are this rank's.
RawCandidates pair_terms(TermRows& rows, const TermClasses& classes, const Vocabulary& words, std::uint32_t max_ops,
                         const runtime::Communicator& communicator);

}  // namespace rulemill::dedup
