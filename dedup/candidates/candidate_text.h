// Candidates as text that algebra::parse_rules() reads. Candidates are named c1, c2, …; variables have the shapes for
// which the sides had equal fingerprints.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "algebra/sizes/poly.h"
#include "algebra/terms/term.h"
#include "dedup/candidates/candidate_graph.h"
#include "dedup/candidates/vocabulary.h"

namespace rulemill::dedup {

/// Names each variable with the leading letters of the profile's first variable of that type, numbered by first use.
algebra::Candidate to_candidate(const CandidateGraph& graph, const Vocabulary& vocabulary,
                                const std::vector<std::string>& variable_names,
                                const std::vector<std::uint16_t>& variable_types, algebra::TermBank& bank);

inline constexpr const char* unnumbered_candidate = "c";

/// A candidate's text without its number, and the number of nodes of both sides.
struct CandidateLine {
  std::uint32_t size = 0;
  std::string text;
  auto operator<=>(const CandidateLine&) const = default;
};
CandidateLine candidate_line(const CandidateGraph& graph, const Vocabulary& vocabulary,
                             const std::vector<std::string>& variable_names,
                             const std::vector<std::uint16_t>& variable_types);
/// Sorts by size, then text; numbers the candidates and concatenates their texts.
std::string candidates_text(std::vector<CandidateLine> lines);

}  // namespace rulemill::dedup
