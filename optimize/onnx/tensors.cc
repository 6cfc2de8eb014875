#include <cstring>

#include "optimize/onnx/model_proto.h"

namespace rulemill::optimize {

namespace {

std::int64_t element_count(const onnx::TensorProto& proto) {
  std::int64_t count = 1;
  for (std::int64_t dim : proto.dims()) count *= dim;
  return count;
}

/// The elements from raw bytes (little endian, as ONNX says) or from the typed field.
template <typename T, typename Field>
std::optional<std::vector<T>> elements(const onnx::TensorProto& proto, const Field& field) {
  auto count = static_cast<std::size_t>(element_count(proto));
  std::vector<T> values(count);
  if (proto.has_raw_data()) {
    if (proto.raw_data().size() != count * sizeof(T)) return std::nullopt;
    if (count > 0) std::memcpy(values.data(), proto.raw_data().data(), count * sizeof(T));
  } else {
    if (static_cast<std::size_t>(field.size()) != count) return std::nullopt;
    std::copy(field.begin(), field.end(), values.begin());
  }
  return values;
}

}  // namespace

std::optional<algebra::Tensor> float_tensor(const onnx::TensorProto& proto) {
  if (proto.data_type() != onnx::TensorProto::FLOAT) return std::nullopt;
  auto values = elements<float>(proto, proto.float_data());
  if (!values) return std::nullopt;
  return algebra::Tensor{{proto.dims().begin(), proto.dims().end()}, std::move(*values)};
}

onnx::TensorProto float_proto(const std::string& name, const algebra::Tensor& tensor) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::FLOAT);
  for (std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_raw_data(tensor.values.data(), tensor.values.size() * sizeof(float));
  return proto;
}

std::optional<OnnxLiteral> literal_tensor(const onnx::TensorProto& proto) {
  if (proto.dims_size() > 1) return std::nullopt;
  OnnxLiteral literal;
  literal.is_list = proto.dims_size() == 1;
  if (proto.data_type() == onnx::TensorProto::INT64) {
    auto values = elements<std::int64_t>(proto, proto.int64_data());
    if (!values) return std::nullopt;
    literal.integers = std::move(*values);
    return literal;
  }
  if (proto.data_type() == onnx::TensorProto::INT32) {
    auto values = elements<std::int32_t>(proto, proto.int32_data());
    if (!values) return std::nullopt;
    literal.integers.assign(values->begin(), values->end());
    return literal;
  }
  auto number = float_tensor(proto);
  if (!number || number->values.size() != 1) return std::nullopt;
  literal.number = number->values[0];
  return literal;
}

onnx::TensorProto integer_proto(const std::string& name, const OnnxLiteral& literal) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::INT64);
  if (literal.is_list) proto.add_dims(static_cast<std::int64_t>(literal.integers.size()));
  for (std::int64_t value : literal.integers) proto.add_int64_data(value);
  return proto;
}

OnnxLiteral attribute_literal(const onnx::AttributeProto& proto) {
  OnnxLiteral literal;
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      literal.integers = {proto.i()};
      break;
    case onnx::AttributeProto::INTS:
      literal.is_list = true;
      literal.integers.assign(proto.ints().begin(), proto.ints().end());
      break;
    case onnx::AttributeProto::STRING:
      literal.word = proto.s();
      break;
    case onnx::AttributeProto::FLOAT:
      literal.number = proto.f();
      break;
    default:
      literal.other = true;
  }
  return literal;
}

onnx::AttributeProto attribute_proto(const std::string& name, const OnnxLiteral& literal) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  if (literal.word) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*literal.word);
  } else if (literal.number) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*literal.number));
  } else if (literal.is_list) {
    proto.set_type(onnx::AttributeProto::INTS);
    for (std::int64_t value : literal.integers) proto.add_ints(value);
  } else {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(literal.integers.at(0));
  }
  return proto;
}

std::uint64_t data_bytes(const onnx::TensorProto& proto) {
  if (proto.has_raw_data()) return proto.raw_data().size();
  std::uint64_t width = proto.data_type() == onnx::TensorProto::DOUBLE || proto.data_type() == onnx::TensorProto::INT64
                            ? sizeof(std::int64_t)
                            : sizeof(float);
  return static_cast<std::uint64_t>(element_count(proto)) * width;
}

}  // namespace rulemill::optimize
