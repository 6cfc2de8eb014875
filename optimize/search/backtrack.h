// Cost-based backtracking search over rewrites with relaxation α and a priority queue (TASO, SOSP'19, section 5;
// MetaFlow, MLSys'19, section 4.1): graphs that cost less than α times the best are kept. With α = 1 it is greedy. The
// budget counts graphs, so that results do not depend on the machine. windows.h applies it to large graphs.
#pragma once

#include "optimize/cost/cost_model.h"
#include "optimize/search/match.h"
#include "optimize/search/search_options.h"
#include "optimize/search/search_result.h"

namespace rulemill::optimize {

SearchResult backtrack(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                       const SearchOptions& options, const IsExportable& is_exportable);

}  // namespace rulemill::optimize
