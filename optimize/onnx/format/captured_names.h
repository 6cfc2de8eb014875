// The values of the outer graph that a node's subgraphs use.
#pragma once

#include <onnx/onnx_pb.h>

#include <set>
#include <string>

namespace rulemill::optimize {

/// Returns the names that the graph uses but does not define.
std::set<std::string> free_names(const onnx::GraphProto& graph);
/// Returns the names that the node's subgraphs use but do not define.
std::set<std::string> captured_names(const onnx::NodeProto& node);

}  // namespace rulemill::optimize
