// The canonical form of a candidate. It does not depend on the names of variables, the order of commutative arguments,
// or the order of two sides of equal size. Candidates with equal keys are renamings of each other, up to what the form
// ignores.
#pragma once

#include <string>

#include "dedup/candidates/candidate_graph.h"
#include "dedup/candidates/vocabulary.h"

namespace rulemill::dedup {

enum class CanonicalForm : std::uint8_t {
  Exact,      // the types of variables count
  AnyShapes,  // only ranks count, and which exact divisions in conditions have quotient 1 (ordinary or grouped)
};

/// Brings the graph to its canonical form, in which the source is the larger side, and returns its key. `exact`
/// receives the key of the exact form.
std::string canonicalize(CandidateGraph& graph, const Vocabulary& vocabulary, CanonicalForm form,
                         std::string* exact = nullptr);
/// Does the same without computing a key.
void canonicalize_without_key(CandidateGraph& graph, const Vocabulary& vocabulary, CanonicalForm form);

/// Returns the number of distinct dimensions of the variables. The more there are, the less likely the sides are equal
/// by coincidence.
std::size_t distinct_dimensions(const CandidateGraph& graph, const Vocabulary& vocabulary);

}  // namespace rulemill::dedup
