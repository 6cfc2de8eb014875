// Numbers at which a rule may begin to fail: those that its operators' definitions compare, divide or add.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::prove {

/// Each once, rising: constants beyond the sizes that are drawn anyway, up to a size that can be evaluated.
std::vector<std::int64_t> telling_numbers(std::span<const algebra::NodeId> nodes, const algebra::TermBank& bank);

}  // namespace rulemill::prove
