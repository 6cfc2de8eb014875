// Candidates for the result: the cheapest graphs that the search finds for the device model and for variants of it.
#pragma once

#include "optimize/search/search_graph.h"

namespace rulemill::optimize {

/// Searches with `cost`, then with each of `variants` unless the first search was slow. The best graph of each variant
/// is added to the results.
SearchResult search_with_variants(const SearchContext& context, CostModel& cost, std::vector<CostModel>& variants,
                                  std::span<const ValueId> outputs, const IsExportable& is_exportable);

/// Returns the results that reduce `original_seconds` by the fraction `min_gain`, without duplicates. If
/// `include_original`, the original graph is the last candidate, whose export drops unused, duplicate and constant
/// nodes.
std::vector<Candidate> choose_candidates(const std::vector<Candidate>& found, const Candidate& original,
                                         double min_gain, bool include_original);

}  // namespace rulemill::optimize
