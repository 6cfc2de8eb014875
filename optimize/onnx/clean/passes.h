// The passes of the clean-up. Each returns whether it changed the graph. None changes a bit of an output, or takes away
// an input or output of the model.
#pragma once

#include "optimize/onnx/clean/clean_graph.h"

namespace rulemill::optimize {

/// Stores the values of Constant nodes as initializers, for the other passes.
bool store_constants(CleanGraph& graph);
/// Stores a number that is added to a tensor or multiplies it without dimensions, for rules about numbers.
bool store_numbers(CleanGraph& graph);
/// Replaces nodes of constants by their values.
bool fold_constants(CleanGraph& graph);
/// Replaces integers that are the same for all inputs, such as parts of a static shape, by constants.
bool fold_known_sizes(CleanGraph& graph);
/// Gives reshapes constant arguments: 0 copies a dimension of the input, -1 computes one.
bool fix_reshape_arguments(CleanGraph& graph);
/// Removes nodes whose output is their input.
bool remove_identities(CleanGraph& graph);
/// Removes additions of 0 where no output depends on the sign of a zero that they change.
bool remove_zero_addends(CleanGraph& graph);
/// Removes a ScatterND that writes every position in order: its result is its updates.
bool remove_full_updates(CleanGraph& graph);
/// Merges nodes that compute the same from the same inputs, and computations of the same sizes.
bool merge_duplicate_nodes(CleanGraph& graph);
/// Merges initializers of equal content.
bool merge_duplicate_initializers(CleanGraph& graph);
/// Merges a movement of elements with the one before it: transposes, reshapes, slices, joins, added dimensions.
bool merge_movements(CleanGraph& graph);
/// Removes reshapes before elementwise operators whose results are reshaped again.
bool remove_inner_reshapes(CleanGraph& graph);
/// Replaces an If whose condition is constant by the nodes of its branch.
bool inline_known_branches(CleanGraph& graph);
/// Removes nodes, optional outputs and initializers that nothing reads.
bool remove_unused(CleanGraph& graph);

/// Returns a constant argument with which a reshape of `input` has the `requested` argument's result at all sizes;
/// nullopt if there is none.
std::optional<std::vector<std::int64_t>> reshape_argument(const std::vector<algebra::Poly>& requested,
                                                          const algebra::Shape& input);

}  // namespace rulemill::optimize
