// Values of a model without inputs, computed in onnxruntime node by node, in a helper process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimize/onnx/format/model.h"
#include "optimize/onnx/inputs/npz.h"

namespace rulemill::optimize {

/// Returns the outputs in their order; nullopt if onnxruntime does not compute them, or not within `timeout` seconds.
/// `command` starts the helper verify.py.
std::optional<std::vector<InputTensor>> constant_values(const OnnxModel& model, const std::vector<std::string>& command,
                                                        double timeout);

}  // namespace rulemill::optimize
