// Shapes of what nodes give that no definition says, where sizes are followed that the ONNX library loses: those that a
// model computes. As in shape_values.h, nothing is rewritten here: so a few ONNX names stand in the code.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "optimize/onnx/shape_values.h"

namespace rulemill::optimize {

struct OpaqueShape {
  algebra::Shape dims;
  int element = 0;           // ONNX's number; 0: that of the input below
  std::size_t as_input = 0;  // whose elements are of the same type
};

/// Of the node's only output, if it follows for all sizes; nothing where a dimension may be 0.
std::optional<OpaqueShape> opaque_shape(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                                        algebra::Symbols& symbols);

}  // namespace rulemill::optimize
