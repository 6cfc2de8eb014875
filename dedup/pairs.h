// From classes to raw candidates: the smallest member of a class with each other one, and, for nodes with several
// outputs, the terms that compute the same outputs one by one.
#pragma once

#include <vector>

#include "dedup/canonical.h"
#include "dedup/term_classes.h"
#include "fingerprint/workers.h"

namespace rulemill::dedup {

/// source ⇒ target, as terms of the table.
struct RawCandidate {
  BoundedList<TermId, most_graph_outputs> source, target;
};

struct RawCandidates {
  std::vector<std::pair<TermId, TermId>> single;  // source, target
  std::vector<RawCandidate> multi;                // two outputs or more
};

/// Collective. `classes` are this rank's. The rows of every term that occurs are fetched.
RawCandidates pair_terms(TermRows& rows, const TermClasses& classes, const Vocabulary& words, std::uint32_t max_ops,
                         const fingerprint::Workers& workers, const runtime::Communicator& communicator);

}  // namespace rulemill::dedup
