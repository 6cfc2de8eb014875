// Where a large graph is cut into windows: runs of nodes between which few values cross.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimize/fusion.h"
#include "optimize/graph.h"

namespace rulemill::optimize {

struct WindowOptions {
  std::size_t smallest = 10, largest = 24;  // nodes
  std::uint32_t rounds = 16;
};

/// Where the fewest values cross; or where the fewest cross away from there, so that what one cut keeps apart the other
/// has together.
enum class Cuts : std::uint8_t { Narrowest, Between };

/// Nodes that are computed and not constant, arguments before users, branch after branch, cut into windows; not between
/// an activation and what it runs inside, where windows may be long enough.
std::vector<std::vector<NodeId>> split_into_windows(const GraphBank& bank, Fusion& fusion,
                                                    std::span<const ValueId> outputs, const WindowOptions& windows,
                                                    Cuts kind);

}  // namespace rulemill::optimize
