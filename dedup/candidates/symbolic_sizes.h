// Candidates with symbolic sizes. Their text is what the prover gets; it is expensive to compute. Candidates that
// differ only in sizes nearly always have one text. The exceptions are splits: a split at the boundary of a concat
// below it has another text than one elsewhere. Comparisons of a few sizes show which of both it is.
#pragma once

#include <string>

#include "dedup/candidates/candidate_graph.h"
#include "dedup/candidates/vocabulary.h"

namespace rulemill::dedup {

/// Returns the outcomes of all comparisons of sizes on which typing depends. Well-typed candidates that differ only in
/// sizes have the same symbolic_text() if these outcomes are equal, too.
std::string size_comparisons(const CandidateGraph& graph, const Vocabulary& vocabulary);

/// Returns the candidate with symbolic sizes as text; empty if it is ill-typed.
std::string symbolic_text(const CandidateGraph& graph, const Vocabulary& vocabulary);

}  // namespace rulemill::dedup
