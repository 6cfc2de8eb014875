// Search on a large graph, one window at a time (after MetaFlow's graph splitting, MLSys'19, section 4.2). Windows are
// runs of nodes between which few values cross. Each is searched as a graph of its own, with placeholders for its
// inputs: the cost of a search state does not depend on the size of the model. Later rounds move the cuts.
#pragma once

#include "optimize/search/backtrack.h"
#include "optimize/search/saturate.h"

namespace rulemill::optimize {

/// Backtracking search in each window. `best` holds the result and the intermediate graphs, cheapest first.
SearchResult search_windows(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                            const SearchOptions& options, const WindowOptions& windows,
                            const IsExportable& is_exportable);

/// Equality saturation of each window, with the same result.
SearchResult saturate_windows(GraphBank& bank, Saturator& saturator, CostModel& cost, std::span<const ValueId> outputs,
                              const SearchOptions& options, const WindowOptions& windows,
                              const IsExportable& is_exportable);

}  // namespace rulemill::optimize
