// How many graphs the enumerated nodes cover, as graph-by-graph generators count them: sets of nodes closed under
// "argument of". Counted by formula from the nodes' closures, not by visiting graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "enumerate/enumerator.h"

namespace rulemill::enumerate {

/// Closed sets of exactly `size` nodes, 1 ≤ size ≤ 4, under all names. `level_nodes[l]` is the number of nodes whose
/// closure has l nodes; the table holds the levels below `size`. Nothing for other sizes.
std::optional<std::uint64_t> count_graphs(std::uint32_t size, const Enumerator& enumerator,
                                          std::span<const std::uint64_t> level_nodes);

}  // namespace rulemill::enumerate
