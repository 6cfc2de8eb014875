// ONNX's float types, as far as numbers are rounded to them: what is computed here is in double.
#pragma once

#include <cstdint>

#include "optimize/graph.h"

namespace rulemill::optimize {

/// IEEE 754's binary16 and the upper half of a binary32; to the nearest, the even one of two.
std::uint16_t float16_of(float value);
float from_float16(std::uint16_t bits);
std::uint16_t bfloat16_of(float value);
float from_bfloat16(std::uint16_t bits);

/// The largest error of rounding a number to the type, relative to the number; nothing for truths and integers.
double rounding_of(Element element);
/// The number of this type that is nearest.
double rounded(double value, Element element);
void round_to(algebra::Tensor& tensor, Element element);

}  // namespace rulemill::optimize
