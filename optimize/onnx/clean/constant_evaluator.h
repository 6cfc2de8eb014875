// Values of nodes whose inputs are constants, with the bits that onnxruntime computes without its optimizations.
// Evaluated are: moves of elements; integer arithmetic without overflow; conversions; float arithmetic that IEEE 754
// rounds correctly in one way only. No result has a NaN whose bits an implementation may choose.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "optimize/onnx/clean/raw_tensor.h"

namespace rulemill::optimize {

/// The opset since which all elementwise operators broadcast as today.
inline constexpr int first_clean_opset = 7;

/// Evaluates a node of the default domain. Absent inputs are nullopt. Returns nullopt if the result is not certain, or
/// larger than `max_bytes`.
std::optional<std::vector<RawTensor>> evaluate_constant_node(const onnx::NodeProto& node, int opset,
                                                             const std::vector<std::optional<RawTensor>>& inputs,
                                                             std::size_t max_bytes);

}  // namespace rulemill::optimize
