// Attributes of ONNX nodes, and lists of integers that older opsets have as an attribute and newer ones as an input.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rulemill::optimize {

/// Whether the node is of ONNX's default domain.
bool is_standard(const onnx::NodeProto& node);
/// Returns the names of the inputs, and of the values that the node's subgraphs capture.
std::vector<std::string> read_names(const onnx::NodeProto& node);
bool has_subgraph(const onnx::NodeProto& node);
/// Whether input `i` is given.
bool has_input(const onnx::NodeProto& node, int i);

/// Returns nullptr if the node has no such attribute.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name);
std::int64_t int_attribute(const onnx::NodeProto& node, const std::string& name, std::int64_t default_value);

/// Returns the position of an axis that may count from the end; -1 if it is out of range.
std::int64_t resolve_axis(std::int64_t axis, std::size_t rank);
/// Returns for each of `rank` positions whether it is among `axes`; nullopt if one is out of range or repeated.
std::optional<std::vector<bool>> mark_axes(const std::vector<std::int64_t>& axes, std::size_t rank);

}  // namespace rulemill::optimize
