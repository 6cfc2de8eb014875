// Validation of a model before anything else reads it, whatever operators mean: names are unique and defined before
// use, tensors have as much data as their dimensions require, functions are not recursive, the opset exists.
#pragma once

#include "optimize/onnx/format/model_proto.h"

namespace rulemill::optimize {

/// Throws InputError("FILE", …), naming the node, tensor or value.
void validate_model(const OnnxModelProto& proto);

/// Throws InputError if the tensor's data do not match its dimensions and element type.
void validate_tensor(const onnx::TensorProto& tensor, std::optional<std::string_view> raw, const std::string& place);

}  // namespace rulemill::optimize
