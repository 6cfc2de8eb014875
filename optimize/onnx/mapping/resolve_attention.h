// Attention by several heads: of ONNX, and onnxruntime's MultiHeadAttention and Attention with packed weights. With a
// summand of the scores (a mask), earlier keys and values or without a scale, it is read as the nodes that compute it.
#pragma once

#include <string>
#include <variant>

#include "optimize/onnx/mapping/resolve_node.h"

namespace rulemill::optimize {

bool is_attention(const NodeDescription& node);

/// Returns the nodes, or why there are none.
std::variant<LoweredNode, std::string> resolve_attention(const NodeQuery& query, GraphBank& bank);

}  // namespace rulemill::optimize
