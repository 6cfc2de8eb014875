// Normalizations of rows by their mean square or variance, read as the nodes that ONNX's functions say they are: a
// mean, a sum with epsilon, a root and a quotient. An operator of the definitions is one node and defined everywhere;
// the nodes are defined where the root is positive, as the same normalization written out.
#pragma once

#include "optimize/onnx/mapping/resolve_node.h"

namespace rulemill::optimize {

bool is_normalization(const NodeDescription& node);

/// Returns the lowered node, or the reason why there is none. The node is a normalization.
std::variant<LoweredNode, std::string> resolve_normalization(const NodeQuery& query, GraphBank& bank);

}  // namespace rulemill::optimize
