// Search on a large graph, window by window (after MetaFlow's graph splitting, MLSys'19, section 4.2): runs of nodes
// that are cut where few values cross. A window is searched as a graph of its own, with placeholders for what comes in,
// so that a state costs no more in a large model than in a small one, and a round costs what its windows do. Later
// rounds move the cuts.
#pragma once

#include "optimize/saturate.h"
#include "optimize/search.h"

namespace rulemill::optimize {

struct WindowOptions {
  std::size_t smallest = 10, largest = 24;  // nodes
  std::uint32_t rounds = 16;
};

/// As search(), over the whole graph. `best` holds the result and the graphs on the way to it, cheapest first.
SearchResult search_windows(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                            const SearchOptions& options, const WindowOptions& windows, const Acceptable& acceptable);

/// Likewise by equality saturation, window by window.
SearchResult saturate_windows(GraphBank& bank, Saturator& saturator, CostModel& cost, Fusion& fusion,
                              std::span<const ValueId> outputs, const SearchOptions& options,
                              const WindowOptions& windows, const Acceptable& acceptable);

/// Where the fewest values cross; or where the fewest cross away from there, so that what one cut keeps apart the other
/// has together.
enum class Cuts : std::uint8_t { Narrowest, Between };

/// Nodes that are computed and not constant, arguments before users, branch after branch, cut into windows; not between
/// an activation and what it runs inside, where windows may be long enough.
std::vector<std::vector<NodeId>> split_into_windows(const GraphBank& bank, Fusion& fusion,
                                                    std::span<const ValueId> outputs, const WindowOptions& windows,
                                                    Cuts kind);

}  // namespace rulemill::optimize
