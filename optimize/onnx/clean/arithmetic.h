// Elementwise operators on constants whose result is the same in every implementation: integers without overflow,
// correctly rounded floating point, comparisons and logic.
#pragma once

#include <optional>

#include "optimize/onnx/clean/raw_tensor.h"
#include "optimize/onnx/shapes/size_operators.h"

namespace rulemill::optimize {

/// Both operands have the same shape. Returns nullopt if the operator or type is not supported, an integer overflows or
/// is divided by 0, or a NaN occurs.
std::optional<RawTensor> combine_elements(SizeOperator op, const RawTensor& a, const RawTensor& b);

enum class UnaryOperator : std::uint8_t { Neg, Abs, Sqrt, Floor, Ceil, Not };
std::optional<RawTensor> map_elements(UnaryOperator op, const RawTensor& input);

/// Converts between Booleans, integers and floating point. Returns nullopt if a number does not fit, is a NaN, or the
/// type is not supported.
std::optional<RawTensor> convert_elements(const RawTensor& input, int type);

}  // namespace rulemill::optimize
