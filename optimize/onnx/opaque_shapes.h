// Shapes of what nodes give that no definition says, where sizes are followed that the ONNX library loses: those that a
// model computes. As in shape_values.h, nothing is rewritten here: so a few ONNX names stand in the code.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <span>
#include <vector>

#include "optimize/onnx/shape_values.h"
#include "optimize/onnx/types.h"

namespace rulemill::optimize {

struct OpaqueShape {
  algebra::Shape dims;
  int element = 0;           // ONNX's number; 0: that of the input below
  std::size_t as_input = 0;  // whose elements are of the same type
  /// A size, and a number: inputs have min(size, number) and size in one place, and fit each other only if it is no
  /// larger.
  std::optional<std::pair<algebra::Poly, std::int64_t>> at_most = {};
};

/// Of the node's only output, if it follows for all sizes; nothing where a dimension may be 0. `sizes`: what is known
/// of those that the model leaves open.
std::optional<OpaqueShape> opaque_shape(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                                        std::span<const OpenSize> sizes, algebra::Symbols& symbols);

}  // namespace rulemill::optimize
