// What must hold of a model before anything else looks at it: names are defined once and before they are used, tensors
// hold as much data as their dimensions say, functions do not call themselves. Nothing here depends on what an operator
// means, so models of any opset pass.
#pragma once

#include "optimize/onnx/model_proto.h"

namespace rulemill::optimize {

/// Throws InputError("FILE", …) that names the node, tensor or value.
void check_structure(const OnnxModel::Proto& proto);

/// Throws InputError if the tensor's data are not what its dimensions and element type ask for.
void check_tensor(const onnx::TensorProto& tensor, std::optional<std::string_view> raw, const std::string& place);

}  // namespace rulemill::optimize
