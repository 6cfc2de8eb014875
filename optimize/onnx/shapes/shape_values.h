// Integer values that a model computes from tensor shapes, as polynomials over its sizes: the arguments of reshapes,
// slices and expansions in dynamic exports. Their nodes remain in the model; only the values are evaluated. Nothing is
// rewritten among them, so they are not operators of the algebra, and their ONNX names are listed here.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::optimize {

/// A small tensor of integers, or of Booleans as 0 and 1, row-major.
struct ShapeValue {
  std::vector<std::int64_t> dims;
  std::vector<algebra::Poly> elements;
  bool is_float = false;  // converted to floating point, so that divisions are not rounded down
};

/// The known value and shape of an input; null if unknown.
struct ShapeOperand {
  const ShapeValue* value = nullptr;
  const algebra::Shape* shape = nullptr;
};

/// Evaluates the node's only output; nullopt if it is unknown. Evaluates integer division only for nonnegative
/// operands.
std::optional<ShapeValue> evaluate_shape_node(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                                              algebra::Symbols& symbols);

}  // namespace rulemill::optimize
