// Numbers near which a rule may start to fail: the constants in its operators' definitions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/terms/term.h"

namespace rulemill::prove {

/// Returns the distinct constants in the nodes' definitions, ascending: larger than the sizes that are drawn anyway,
/// and small enough to be evaluated.
std::vector<std::int64_t> find_boundary_values(std::span<const algebra::NodeId> nodes, const algebra::TermBank& bank);

}  // namespace rulemill::prove
