// Candidates of all ranks with one of each key kept: the one whose equality is least due to chance, then the first.
#pragma once

#include <string>
#include <vector>

#include "dedup/canonical.h"
#include "dedup/pairs.h"
#include "runtime/communicator.h"
#include "runtime/workers.h"

namespace rulemill::dedup {

/// Candidates as bytes: many wait at once.
using PackedCandidates = std::vector<std::string>;
std::string pack(const CandidateGraph& graph);
CandidateGraph unpack(const std::string& packed);

/// Makes the i-th candidate.
using CandidateSource = std::function<CandidateGraph(std::size_t i)>;

/// Collective. Brings every candidate to canonical form for any shapes, drops those whose sides are the same, and keeps
/// one of each key; `renamings_apart` is how many of this rank's were no renamings of each other. Keys are spread over
/// ranks by their hash; the result, in an order that depends on the candidates alone, is this rank's part.
PackedCandidates one_of_each(std::size_t count, const CandidateSource& source, const Vocabulary& words,
                             const runtime::Workers& workers, const runtime::Communicator& communicator,
                             std::uint64_t* renamings_apart = nullptr);

}  // namespace rulemill::dedup
