// A constant tensor as raw bytes, of any element type whose elements are whole bytes.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rulemill::optimize {

using Dims = std::vector<std::int64_t>;

struct RawTensor {
  int type = 0;  // ONNX element type
  Dims dims;
  std::string_view bytes;                    // row-major, little endian
  std::shared_ptr<const std::string> owner;  // of the bytes; null: the model

  std::size_t width() const;  // bytes of an element
  std::int64_t count() const;
  /// Decodes int64, int32 and Boolean tensors; nullopt for other types.
  std::optional<std::vector<std::int64_t>> integers() const;

  template <typename T>
  T element(std::size_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
};

/// Returns the number of elements; nullopt if a dimension is negative or the number is absurd.
std::optional<std::int64_t> element_count(const Dims& dims);
/// Returns the bytes of an element; 0 for strings and for elements smaller than a byte.
std::size_t element_width(int onnx_type);

/// Appends an element of an integer type, or a Boolean.
void append_integer(std::string& bytes, int onnx_type, std::int64_t value);
RawTensor make_raw_tensor(int type, Dims dims, std::string bytes);
RawTensor make_integer_tensor(Dims dims, const std::vector<std::int64_t>& values);  // of type int64
/// `raw` is the tensor's data outside the message, if any. Returns nullopt for strings, sub-byte elements and data that
/// do not match the dimensions.
std::optional<RawTensor> to_raw_tensor(const onnx::TensorProto& proto, std::optional<std::string_view> raw);
onnx::TensorProto to_proto(const std::string& name, const RawTensor& tensor);

}  // namespace rulemill::optimize
