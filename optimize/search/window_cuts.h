// Division of a large graph into windows: runs of nodes between which few values cross.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optimize/model/fusion.h"
#include "optimize/search/search_options.h"

namespace rulemill::optimize {

enum class CutPlacement : std::uint8_t {
  Narrowest,  // cut where the fewest values cross
  Staggered,  // cut where the fewest values cross away from the narrowest cuts, so that other nodes share a window
};

/// Returns the computed, non-constant nodes in windows, arguments before users, in depth-first order. Activations stay
/// with the node into which they are fused, and pairs that the runtime computes as a slower node together, if windows
/// may be long enough.
std::vector<std::vector<NodeId>> split_into_windows(const GraphBank& bank, Fusion& fusion,
                                                    std::span<const ValueId> outputs, const WindowOptions& windows,
                                                    CutPlacement placement);

}  // namespace rulemill::optimize
