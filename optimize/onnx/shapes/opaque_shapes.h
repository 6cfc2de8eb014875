// Output shapes of opaque nodes that depend on sizes that the model computes, which the ONNX library does not
// track. As in shape_values.h, nothing is rewritten here, so a few ONNX names appear in the code.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <span>
#include <vector>

#include "optimize/onnx/shapes/shape_values.h"
#include "optimize/onnx/shapes/types.h"

namespace rulemill::optimize {

struct OpaqueShape {
  algebra::Shape dims;
  int onnx_type = 0;           // ONNX element type; 0: that of input `type_input`
  std::size_t type_input = 0;  // input with the same element type
  /// A size and its upper bound: inputs have min(size, bound) and size at one position, so that they are compatible
  /// only if the size is at most the bound.
  std::optional<std::pair<algebra::Poly, std::int64_t>> required_bound = {};
};

/// Infers the shape of the node's only output; nullopt if it does not follow for all sizes, or a dimension may be 0.
std::optional<OpaqueShape> infer_opaque_shape(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                                              std::span<const DynamicDim> dynamic_dims, algebra::Symbols& symbols);

}  // namespace rulemill::optimize
