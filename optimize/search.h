// Cost-based backtracking over rewrites with relaxation α and a priority queue (TASO, SOSP'19, section 5; MetaFlow,
// MLSys'19, section 4.1): a graph is kept while it costs less than α times the best so far. With α = 1 this is greedy.
// The budget counts graphs, so that results do not depend on the machine. Large graphs: see windows.h.
#pragma once

#include <functional>
#include <vector>

#include "optimize/cost.h"
#include "optimize/match.h"

namespace rulemill::optimize {

enum class SearchKind : std::uint8_t {
  Saturate,   // see saturate.h
  Backtrack,  // below
};

struct SearchOptions {
  SearchKind kind = SearchKind::Saturate;
  double alpha = 1.5;            // of a window's cost
  std::uint64_t budget = 20000;  // graphs made
  double time_limit = 0;         // seconds; 0: none
  std::size_t keep = 3;          // results
  std::size_t exact_nodes = 0;   // e-graphs of so many nodes are extracted exactly, too
};

/// One rewrite on the way to a result.
struct Step {
  std::uint32_t rule = 0;  // position in the rule set
  bool reversed = false;
  double before = 0, after = 0;  // seconds, by the cost model
};

struct Candidate {
  std::vector<ValueId> outputs;
  double seconds = 0;
  std::vector<Step> steps;
};

struct SearchResult {
  std::vector<Candidate> best;  // cheapest first; the graph itself if nothing is cheaper
  std::uint64_t made = 0;       // graphs, with those met again
  std::uint64_t extended = 0;
  std::uint64_t windows = 0, nodes = 0;  // of a saturation: regions solved, and nodes of their e-graphs
  std::uint64_t extracted = 0,
                exactly = 0;  // graphs taken out of e-graphs, and how many of them by integer programming
  bool exhausted = false;     // no limit was reached
};

/// Whether a graph can be a result (can be said in ONNX); others only lead to results.
using Acceptable = std::function<bool(std::span<const ValueId>)>;

SearchResult search(GraphBank& bank, Matcher& matcher, CostModel& cost, std::span<const ValueId> outputs,
                    const SearchOptions& options, const Acceptable& acceptable);

}  // namespace rulemill::optimize
