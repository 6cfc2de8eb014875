#include "optimize/candidates.h"

#include <algorithm>

namespace rulemill::optimize {
namespace {

/// Nodes of the first search's e-graphs; with more, it took seconds and is not repeated for variants.
constexpr std::uint64_t max_repeated_egraph_nodes = 150000;
/// Candidates that are exported and benchmarked.
constexpr std::size_t max_candidates = 4;

/// Adds the best graph of a variant as the second result, or as the first if `cost` finds it cheaper.
void add_best(SearchResult& found, SearchResult variant, CostModel& cost) {
  Candidate best = std::move(variant.best.at(0));
  best.seconds = cost.graph_seconds(best.outputs);
  const bool is_cheaper = best.seconds < found.best.at(0).seconds * (1 - cost_rounding);
  found.best.insert(found.best.begin() + (is_cheaper ? 0 : 1), std::move(best));
  found += variant;
}

}  // namespace

SearchResult search_with_variants(const SearchContext& context, CostModel& cost, std::vector<CostModel>& variants,
                                  std::span<const ValueId> outputs, const IsExportable& is_exportable) {
  SearchResult found = search_graph(context, cost, outputs, is_exportable);
  if (found.egraph_nodes > max_repeated_egraph_nodes) return found;
  for (CostModel& variant : variants) add_best(found, search_graph(context, variant, outputs, is_exportable), cost);
  return found;
}

std::vector<Candidate> choose_candidates(const std::vector<Candidate>& found, const Candidate& original,
                                         double min_gain, bool include_original) {
  std::vector<Candidate> candidates;
  const double max_seconds = original.seconds * (1 - std::max(min_gain, cost_rounding));
  for (const Candidate& each : found) {
    const auto is_same = [&](const Candidate& other) { return other.outputs == each.outputs; };
    if (each.steps.empty() || each.seconds >= max_seconds || std::ranges::any_of(candidates, is_same)) continue;
    candidates.push_back(each);
  }
  if (candidates.size() > max_candidates) candidates.resize(max_candidates);
  if (include_original) candidates.push_back(original);
  return candidates;
}

}  // namespace rulemill::optimize
