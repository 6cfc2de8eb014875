// An Einsum as the nodes Transpose and MatMul that compute the same, each resolved by the operators' mappings.
#pragma once

#include "optimize/onnx/mapping/resolve_node.h"

namespace rulemill::optimize {

/// Returns the steps of an Einsum, or the reason why there are none.
std::variant<LoweredNode, std::string> resolve_einsum(const NodeQuery& query, GraphBank& bank);

/// Returns the products of the elements of any number of operands, and their sums, for comparisons: they may be large.
std::variant<LoweredNode, std::string> resolve_sum_of_products(const NodeQuery& query, GraphBank& bank);

}  // namespace rulemill::optimize
