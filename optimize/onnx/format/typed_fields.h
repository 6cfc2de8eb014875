// The elements of a protobuf tensor that are in typed fields, not in raw data.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

namespace rulemill::optimize {

/// Converts the typed fields to raw bytes. float16, bfloat16, int32 and bool are stored in int32_data.
std::string encode_typed_fields(const onnx::TensorProto& proto);

}  // namespace rulemill::optimize
