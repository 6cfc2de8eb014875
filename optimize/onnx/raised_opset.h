// A newer opset for results that need an operator of it.
#pragma once

#include <cstdint>
#include <string>

#include "optimize/onnx/format/model.h"

namespace rulemill::optimize {

/// The newest opset that results are written in; runtimes support it since 2024.
constexpr int max_result_opset = 20;

/// Returns an opset in which the operator of ONNX's default domain means the same, but for types: one for all opsets of
/// which this is known, which may be older than the operator.
std::int64_t equivalent_opset(const std::string& op_type, std::int64_t opset);

/// Returns the newest of two opsets in which every node of the model, including those of subgraphs, means the same, if
/// the model is no subgraph of another; otherwise the model's opset.
int raised_opset(const OnnxModel& model);

}  // namespace rulemill::optimize
