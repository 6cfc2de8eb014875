// Nodes that stand for several nodes of ONNX, of which mappings tell the meaning: Einsum, and onnxruntime's FusedConv,
// FusedGemm and Attention.
#pragma once

#include "optimize/onnx/mapping/resolve_node.h"

namespace rulemill::optimize {

/// Returns the lowered node: by a mapping, or the steps of its parts. Otherwise the reason why there are none.
std::variant<LoweredNode, std::string> resolve_node_or_parts(const NodeQuery& query, GraphBank& bank);

}  // namespace rulemill::optimize
