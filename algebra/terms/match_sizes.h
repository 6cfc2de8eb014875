// Solves for the sizes of a pattern from actual sizes.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "algebra/terms/term.h"

namespace rulemill::algebra {

/// Returns the sizes of a rule for which each pattern (over the rule's sizes) equals its actual size. Also solves the
/// equations of `condition`, over the rule's sizes. nullopt if they do not match, or if symbolic sizes leave it open.
/// Patterns and actual sizes may share names without meaning the same size.
std::optional<Substitution> match_sizes(std::span<const std::pair<Poly, Poly>> pattern_and_actual, Symbols& symbols,
                                        std::span<const SizeCondition> condition = {});

}  // namespace rulemill::algebra
