// Rounding of doubles to the float types of ONNX.
#pragma once

#include <cstdint>

#include "algebra/execution/reference.h"
#include "optimize/model/data_type.h"

namespace rulemill::optimize {

/// Conversions between binary32 and IEEE 754 binary16 or bfloat16. They round to nearest, ties to even.
std::uint16_t to_float16(float value);
float from_float16(std::uint16_t bits);
std::uint16_t to_bfloat16(float value);
float from_bfloat16(std::uint16_t bits);

/// Returns the largest relative error of rounding a number to the type; 0 for Boolean and integer types.
double unit_roundoff(DataType type);
/// Returns the smallest positive number of a float type that has all its digits. Smaller ones are multiples of it times
/// twice the unit roundoff.
double smallest_normal(DataType type);
/// Returns the nearest number of the type.
double rounded(double value, DataType type);
/// Returns whether the type has the number within its relative error: smaller than its range, a number is no longer
/// what it was over the reals. Infinities and NaN are in no range.
bool is_in_range(double value, DataType type);
void round_to(algebra::Tensor& tensor, DataType type);

}  // namespace rulemill::optimize
