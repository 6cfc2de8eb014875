// A newer opset for results that need an operator of it.
#pragma once

#include "optimize/onnx/format/model.h"

namespace rulemill::optimize {

/// The newest opset that results are written in; runtimes support it since 2024.
constexpr int max_result_opset = 20;

/// Returns the newest of two opsets in which every node of the model, including those of subgraphs, means the same, if
/// the model is no subgraph of another; otherwise the model's opset.
int raised_opset(const OnnxModel& model);

}  // namespace rulemill::optimize
