// The ONNX operators that sizes are computed with, the one place where code names operators: what a tensor's shape is
// made of is decided while a model is read, before there is anything that a definition could say (docs/decisions.md).
// What these operators do to numbers of a float type is said by definitions, as for all others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rulemill::optimize {

enum class SizeOperator : std::uint8_t {
  Shape,
  Size,
  Gather,
  GatherElements,
  Slice,
  Concat,
  Unsqueeze,
  Squeeze,
  Reshape,
  Cast,
  Identity,
  Range,
  ConstantOfShape,
  Expand,
  Where,
  Transpose,
  ReduceProd,
  Neg,
  Not,
  // Of two operands, element by element.
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Pow,
  Min,
  Max,
  And,
  Or,
  Xor,
  Less,
  Greater,
  LessOrEqual,
  GreaterOrEqual,
  Equal,
};

/// Of ONNX's own domain.
std::optional<SizeOperator> size_operator(const std::string& op_type);
const char* onnx_name(SizeOperator op);
bool is_elementwise(SizeOperator op);
bool gives_truths(SizeOperator op);

}  // namespace rulemill::optimize
