// The ONNX operators that compute sizes. Only this and optimize/onnx/clean name ONNX operators: shapes are needed while
// a model is imported, before definitions apply (docs/decisions). On floats these operators are defined by definitions,
// as all others.
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
  // Binary elementwise operators.
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

/// Looks up an operator of ONNX's default domain.
std::optional<SizeOperator> size_operator(const std::string& op_type);
const char* onnx_name(SizeOperator op);
bool is_elementwise(SizeOperator op);
bool returns_bool(SizeOperator op);

}  // namespace rulemill::optimize
