// The protobuf behind OnnxModel, and tensors in and out of it. Included by this folder alone.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "algebra/execution/reference.h"
#include "optimize/onnx/mapping.h"
#include "optimize/onnx/model.h"

namespace rulemill::optimize {

struct OnnxModel::Proto {
  onnx::ModelProto model;
  std::string origin;
  int opset = 0;
};

/// A float32 tensor, or nothing for another element type or one whose data do not match its shape.
std::optional<algebra::Tensor> float_tensor(const onnx::TensorProto& proto);
onnx::TensorProto float_proto(const std::string& name, const algebra::Tensor& tensor);
/// An int64 or int32 tensor of rank 0 or 1, or a float32 scalar.
std::optional<OnnxLiteral> literal_tensor(const onnx::TensorProto& proto);
onnx::TensorProto integer_proto(const std::string& name, const OnnxLiteral& literal);

OnnxLiteral attribute_literal(const onnx::AttributeProto& proto);
onnx::AttributeProto attribute_proto(const std::string& name, const OnnxLiteral& literal);

/// Bytes of the tensor's elements, as stored.
std::uint64_t data_bytes(const onnx::TensorProto& proto);

}  // namespace rulemill::optimize
