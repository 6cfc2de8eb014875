// Counts the graphs that the enumerated nodes cover, for comparison with generators that enumerate graphs. A graph is a
// set of nodes that contains the arguments of its nodes. Computed by formula from closures, without visiting graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "enumerate/levels/enumerator.h"

namespace rulemill::enumerate {

/// Returns the number of graphs of exactly `size` nodes with all their renamings; nothing unless 1 ≤ size ≤ 4.
/// `level_nodes[l]` is the number of nodes of level l with all their renamings; the table must contain the levels below
/// `size`.
std::optional<std::uint64_t> count_graphs(std::uint32_t size, const Enumerator& enumerator,
                                          std::span<const std::uint64_t> level_nodes);

}  // namespace rulemill::enumerate
