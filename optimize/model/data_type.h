// The data types of tensors that the algebra supports.
#pragma once

#include <cstdint>

namespace rulemill::optimize {

/// The ONNX element type of a tensor. `Integer` stands for every integer type.
enum class DataType : std::uint8_t { Float32, Float16, BFloat16, Float64, Bool, Integer };

inline bool is_float(DataType type) { return type != DataType::Bool && type != DataType::Integer; }

}  // namespace rulemill::optimize
