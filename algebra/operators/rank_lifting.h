// Whether one operator instance is another with a dimension replaced by several. Rules that hold at any rank rest on
// this test (docs/rank_polymorphism.md). It compares the expanded bodies, not the text of the definition.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/operators/operator_instance.h"

namespace rulemill::algebra {

/// For each size slot of the small instance its slots in the large one: one, or for a pack one per dimension of the
/// large instance.
using SlotMap = std::vector<std::vector<std::uint32_t>>;

/// Returns the slot map if `large` is `small` with each size slot in `packs` (by slot) replaced by `rank` sizes. An
/// index over a pack may only be used bare and in order, for a dimension of a tensor that is the pack; the pack's size
/// may only be used as the product of its dimensions. Everything else must be equal, expression by expression.
std::optional<SlotMap> find_rank_lifting(const OperatorInstance& small, const std::vector<bool>& packs,
                                         std::uint32_t rank, const OperatorInstance& large);

}  // namespace rulemill::algebra
