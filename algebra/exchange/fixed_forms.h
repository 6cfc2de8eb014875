// General rules at fixed ranks and numbers, for systems whose patterns have neither packs nor symbolic parameters.
#pragma once

#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// The greatest rank at which rules for any rank are exported.
inline constexpr std::uint32_t max_exported_rank = 5;

/// Returns the rule with each number of dimensions for its packs for which its variables have at most `max_rank`.
std::vector<Rule> fixed_ranks(const Rule& rule, std::uint32_t max_rank, Library& library, TermBank& bank,
                              Symbols& symbols);

/// Returns the rule with small numbers for symbolic parameters: 1 to 8 if there is one, otherwise 1 to 3 (one less
/// where 0 is allowed). Of more than four, those of one list are equal.
std::vector<Rule> fixed_parameters(const Rule& rule, Library& library, TermBank& bank, Symbols& symbols);

}  // namespace rulemill::algebra
