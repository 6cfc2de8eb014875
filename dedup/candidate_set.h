// Candidates of all ranks with one of each key kept: the one whose equality is least due to chance, then the first.
#pragma once

#include <string>
#include <vector>

#include "dedup/canonical.h"
#include "fingerprint/workers.h"
#include "runtime/communicator.h"

namespace rulemill::dedup {

/// Collective. Brings every graph to canonical form, drops those whose sides are the same, and keeps one of each key.
/// Keys are spread over ranks by their hash; the result, in key order, is this rank's part.
std::vector<CandidateGraph> one_of_each(std::vector<CandidateGraph> graphs, const Vocabulary& words, KeyKind kind,
                                        const fingerprint::Workers& workers, const runtime::Communicator& communicator);

}  // namespace rulemill::dedup
