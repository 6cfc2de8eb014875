// Whether one operator instance is another with a dimension replaced by several: the ground on which rules hold at any
// rank (docs/any_rank.md). Decided from the expanded bodies alone, whatever the definition's text looks like.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/language/instance.h"

namespace rulemill::algebra {

/// Of each size slot of the small instance, its slots in the large one: one, or of a group as many as the large one has
/// dimensions for it.
using SlotMap = std::vector<std::vector<std::uint32_t>>;

/// Whether `large` is `small` where each size slot in `groups` (by slot) stands for `rank` sizes. A group only passes
/// through: indices over it stand bare, in order, and only where a tensor has that dimension; its size is used as a
/// number by its product alone. Everything else is equal, expression by expression.
std::optional<SlotMap> group_lift(const Instance& small, const std::vector<bool>& groups, std::uint32_t rank,
                                  const Instance& large);

}  // namespace rulemill::algebra
