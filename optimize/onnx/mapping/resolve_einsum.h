// An Einsum as the nodes Transpose and MatMul that compute the same, each resolved by the operators' mappings.
#pragma once

#include "optimize/onnx/mapping/resolve_node.h"

namespace rulemill::optimize {

/// Returns the lowered node: by a mapping, or the steps of an Einsum. Otherwise the reason why there are none.
std::variant<LoweredNode, std::string> resolve_node_or_einsum(const NodeQuery& query, GraphBank& bank);

}  // namespace rulemill::optimize
