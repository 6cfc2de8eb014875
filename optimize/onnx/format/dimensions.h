// The dimensions that a model declares, at any depth.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>

namespace rulemill::optimize {

using UseDimension = std::function<void(onnx::TensorShapeProto::Dimension&)>;

/// Calls `use` with each dimension of a type, of the values of a graph and its subgraphs, or of a node's subgraphs.
void for_each_dimension(onnx::TypeProto& type, const UseDimension& use);
void for_each_dimension(onnx::GraphProto& graph, const UseDimension& use);
void for_each_dimension(onnx::NodeProto& node, const UseDimension& use);

}  // namespace rulemill::optimize
