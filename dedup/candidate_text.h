// Candidates as text, in the form that algebra::parse_rules reads: names c1, c2, … in canonical order, variables with
// the shapes on which the sides agreed.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "algebra/sizes/poly.h"
#include "algebra/terms/term.h"
#include "dedup/canonical.h"

namespace rulemill::dedup {

/// Names variables after those of the profile: the letters in front, numbered in order of first use.
algebra::Candidate to_candidate(const CandidateGraph& graph, const Vocabulary& words,
                                const std::vector<std::string>& variable_names,
                                const std::vector<std::uint16_t>& variable_types, algebra::TermBank& bank);

inline constexpr const char* unnumbered_candidate = "c";

/// A candidate's text without its number, and how large it is: both sides' nodes.
struct CandidateLine {
  std::uint32_t size = 0;
  std::string text;
  auto operator<=>(const CandidateLine&) const = default;
};
CandidateLine candidate_line(const CandidateGraph& graph, const Vocabulary& words,
                             const std::vector<std::string>& variable_names,
                             const std::vector<std::uint16_t>& variable_types);
/// Sorts by size, then text, numbers the candidates, and joins their texts.
std::string candidates_text(std::vector<CandidateLine> lines);

}  // namespace rulemill::dedup
