// Search on a large graph, window by window (after MetaFlow's graph splitting, MLSys'19, section 4.2): runs of nodes
// that are cut where few values cross. A window is searched as a graph of its own, with placeholders for what comes in,
// so that a state costs no more in a large model than in a small one, and a round costs what its windows do. Later
// rounds move the cuts.
#pragma once

#include "optimize/saturate.h"
#include "optimize/search.h"
#include "optimize/window_cuts.h"

namespace rulemill::optimize {

/// As search(), over the whole graph. `best` holds the result and the graphs on the way to it, cheapest first.
SearchResult search_windows(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                            const SearchOptions& options, const WindowOptions& windows, const Acceptable& acceptable);

/// Likewise by equality saturation, window by window.
SearchResult saturate_windows(GraphBank& bank, Saturator& saturator, CostModel& cost, std::span<const ValueId> outputs,
                              const SearchOptions& options, const WindowOptions& windows, const Acceptable& acceptable);

}  // namespace rulemill::optimize
