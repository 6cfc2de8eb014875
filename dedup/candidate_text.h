// Candidates as text, in the form that algebra::parse_rules reads: names c1, c2, … in canonical order, variables with
// the shapes on which the sides agreed.
#pragma once

#include <string>
#include <vector>

#include "algebra/poly.h"
#include "algebra/term.h"
#include "dedup/canonical.h"

namespace rulemill::dedup {

/// Names variables after those of the profile: the letters in front, numbered in order of first use.
algebra::Candidate to_candidate(const CandidateGraph& graph, const Vocabulary& words,
                                const std::vector<std::string>& variable_names,
                                const std::vector<std::uint16_t>& variable_types, algebra::TermBank& bank);

/// Sorts by size (both sides' nodes), then text, numbers the candidates, and joins their texts.
std::string candidates_text(const std::vector<CandidateGraph>& graphs, const Vocabulary& words,
                            const std::vector<std::string>& variable_names,
                            const std::vector<std::uint16_t>& variable_types, const algebra::Library& library);

}  // namespace rulemill::dedup
