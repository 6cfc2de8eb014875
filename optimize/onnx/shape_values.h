// Integers that a model computes from the shapes of its tensors, as polynomials over its sizes: what dynamic exports
// say of reshapes, slices and expansions. These nodes stay as they are in the model; only their values are known. They
// are no operators of the algebra, since nothing is rewritten among them: so their few ONNX names stand here.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "algebra/sizes/poly.h"

namespace rulemill::optimize {

/// A small tensor of integers, or of truth values as 0 and 1, row-major.
struct ShapeValue {
  std::vector<std::int64_t> dims;
  std::vector<algebra::Poly> elements;
};

/// What is known of an input: its value, its shape.
struct ShapeOperand {
  const ShapeValue* value = nullptr;
  const algebra::Shape* shape = nullptr;
};

/// The node's only output, if it follows. Integer division is taken for what it is where the operands are not negative.
std::optional<ShapeValue> shape_value(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                                      algebra::Symbols& symbols);

}  // namespace rulemill::optimize
