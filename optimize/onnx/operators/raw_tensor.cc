#include "optimize/onnx/operators/raw_tensor.h"

#include "optimize/onnx/format/model_proto.h"

namespace rulemill::optimize {
namespace {

constexpr std::int64_t max_count = std::int64_t{1} << 40;

}  // namespace

std::size_t RawTensor::width() const { return element_width(type); }

std::int64_t RawTensor::count() const { return static_cast<std::int64_t>(bytes.size() / width()); }

std::optional<std::vector<std::int64_t>> RawTensor::integers() const {
  const auto size = static_cast<std::size_t>(count());
  std::vector<std::int64_t> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (type == onnx::TensorProto::INT64) {
      values[i] = element<std::int64_t>(i);
    } else if (type == onnx::TensorProto::INT32) {
      values[i] = element<std::int32_t>(i);
    } else if (type == onnx::TensorProto::BOOL) {
      values[i] = std::int64_t{bytes[i] != 0};
    } else {
      return std::nullopt;
    }
  }
  return values;
}

std::optional<std::int64_t> element_count(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && count > max_count / dim)) return std::nullopt;
    count *= dim;
  }
  return count;
}

std::size_t element_width(int onnx_type) {
  const auto bytes_of_two = raw_bytes(onnx_type, 2);
  return bytes_of_two ? static_cast<std::size_t>(*bytes_of_two / 2) : 0;
}

void append_integer(std::string& bytes, int onnx_type, std::int64_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), element_width(onnx_type));
}

RawTensor make_raw_tensor(int type, Dims dims, std::string bytes) {
  RawTensor result{type, std::move(dims), {}, std::make_shared<const std::string>(std::move(bytes))};
  result.bytes = *result.owner;
  return result;
}

RawTensor make_integer_tensor(Dims dims, const std::vector<std::int64_t>& values) {
  return make_raw_tensor(onnx::TensorProto::INT64, std::move(dims),
                         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])));
}

std::optional<RawTensor> to_raw_tensor(const onnx::TensorProto& proto, std::optional<std::string_view> raw) {
  const std::size_t width = element_width(proto.data_type());
  Dims dims(proto.dims().begin(), proto.dims().end());
  const auto count = element_count(dims);
  if (width == 0 || !count || proto.data_location() == onnx::TensorProto::EXTERNAL || proto.has_segment())
    return std::nullopt;
  const auto size = static_cast<std::size_t>(*count) * width;
  if (raw) return raw->size() == size ? std::optional(RawTensor{proto.data_type(), dims, *raw, nullptr}) : std::nullopt;
  RawTensor tensor = make_raw_tensor(proto.data_type(), dims, encode_typed_fields(proto));
  return tensor.bytes.size() == size ? std::optional(tensor) : std::nullopt;
}

onnx::TensorProto to_proto(const std::string& name, const RawTensor& tensor) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(tensor.type);
  for (const std::int64_t dim : tensor.dims) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  return proto;
}

}  // namespace rulemill::optimize
