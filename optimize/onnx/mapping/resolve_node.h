// Resolution of an ONNX node: the operator instance and sizes that it encodes, determined by the operators' mappings,
// never by the operator's name. Undetermined values are searched: enum values of finite domains, integers of the node.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "optimize/model/graph.h"
#include "optimize/onnx/mapping/mapping.h"
#include "optimize/onnx/mapping/mapping_matcher.h"

namespace rulemill::optimize {

/// How normalizations of rows are read: as operators, or as the nodes that compute them (resolve_normalization.h).
enum class Normalizations : std::uint8_t { Whole, Parts };

/// An ONNX node with its context.
struct NodeQuery {
  NodeDescription description;
  int opset = 0;
  std::vector<std::optional<ValueId>> inputs;  // nullopt if absent or integer
  std::vector<ValueType> outputs;              // by ONNX shape inference; dimensions may be symbolic
  Normalizations normalizations = Normalizations::Whole;
};

/// Returns the lowered node, or the reason why there is none.
std::variant<LoweredNode, std::string> resolve_node(const NodeQuery& query, GraphBank& bank);

}  // namespace rulemill::optimize
