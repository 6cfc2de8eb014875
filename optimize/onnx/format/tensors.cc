#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "optimize/model/rounding.h"
#include "optimize/onnx/format/model_proto.h"
#include "runtime/text/error.h"
#include "runtime/text/hash.h"

namespace rulemill::optimize {
namespace {

/// Returns the elements from raw bytes (little endian, as in ONNX) or from the typed field.
template <typename T, typename Field>
std::optional<std::vector<T>> elements(const onnx::TensorProto& proto, std::optional<std::string_view> raw,
                                       const Field& field) {
  auto count = element_count(proto);
  if (!count) return std::nullopt;
  if (raw ? raw->size() / sizeof(T) != *count || raw->size() % sizeof(T) != 0
          : static_cast<std::uint64_t>(field.size()) != *count) {
    return std::nullopt;
  }
  std::vector<T> values(*count);
  if (raw) {
    if (*count > 0) std::memcpy(values.data(), raw->data(), raw->size());
  } else {
    std::copy(field.begin(), field.end(), values.begin());
  }
  return values;
}

/// Bits of an element, by ONNX element type; 0 for strings and unknown types.
constexpr unsigned element_bits[] = {0,  32, 8,   8,  16, 16, 32, 64, 0, 8, 16, 64, 32,
                                     64, 64, 128, 16, 8,  8,  8,  8,  4, 4, 4,  8};

/// ONNX's element types; the first one of a data type is written.
constexpr std::pair<int, DataType> data_types[] = {
    {onnx::TensorProto::FLOAT, DataType::Float32},     {onnx::TensorProto::FLOAT16, DataType::Float16},
    {onnx::TensorProto::BFLOAT16, DataType::BFloat16}, {onnx::TensorProto::DOUBLE, DataType::Float64},
    {onnx::TensorProto::BOOL, DataType::Bool},         {onnx::TensorProto::INT64, DataType::Integer},
    {onnx::TensorProto::INT32, DataType::Integer}};

void for_each_tensor(onnx::GraphProto& graph, bool with_initializers,
                     const std::function<void(onnx::TensorProto&)>& visit) {
  if (with_initializers) {
    for (auto& tensor : *graph.mutable_initializer()) visit(tensor);
  }
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) visit(*attribute.mutable_t());
      for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
      if (attribute.has_g()) for_each_tensor(*attribute.mutable_g(), true, visit);
      for (auto& subgraph : *attribute.mutable_graphs()) for_each_tensor(subgraph, true, visit);
    }
  }
}

}  // namespace

const std::string& DetachedData::digest() const {
  if (digest_->empty()) *digest_ = runtime::to_hex(runtime::hash128(runtime::bytes_of(bytes)));
  return *digest_;
}

std::optional<std::string_view> OnnxModelProto::raw(const onnx::TensorProto& initializer) const {
  auto found = detached_data.find(initializer.name());
  return found == detached_data.end() ? inline_raw_data(initializer) : std::optional(found->second.bytes);
}

std::optional<std::string_view> inline_raw_data(const onnx::TensorProto& proto) {
  return proto.has_raw_data() ? std::optional<std::string_view>(proto.raw_data()) : std::nullopt;
}

void for_each_nested_tensor(onnx::GraphProto& graph, const std::function<void(onnx::TensorProto&)>& visit) {
  for_each_tensor(graph, false, visit);
}

std::optional<std::uint64_t> element_count(const onnx::TensorProto& proto) {
  constexpr std::uint64_t max_count = std::uint64_t{1} << 56;
  std::uint64_t count = 1;
  bool empty = false;
  for (std::int64_t dim : proto.dims()) {
    if (dim < 0) return std::nullopt;
    empty = empty || dim == 0;
  }
  if (empty) return 0;
  for (std::int64_t dim : proto.dims()) {
    if (static_cast<std::uint64_t>(dim) > max_count / count) return std::nullopt;
    count *= static_cast<std::uint64_t>(dim);
  }
  return count;
}

std::optional<std::uint64_t> raw_bytes(int onnx_type, std::uint64_t elements) {
  const bool known = onnx_type >= 0 && onnx_type < static_cast<int>(std::size(element_bits));
  const unsigned bits = known ? element_bits[onnx_type] : 0;
  if (bits == 0) return std::nullopt;
  return (elements * bits + 7) / 8;
}

std::optional<DataType> to_data_type(int onnx_type) {
  const auto* found = std::ranges::find(data_types, onnx_type, &std::pair<int, DataType>::first);
  return found == std::end(data_types) ? std::nullopt : std::optional(found->second);
}

int to_onnx_type(DataType data_type) {
  return std::ranges::find(data_types, data_type, &std::pair<int, DataType>::second)->first;
}

namespace {

template <typename T, typename Convert>
std::vector<double> decode(std::string_view raw, Convert convert) {
  std::vector<double> values(raw.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, raw.data() + i * sizeof(T), sizeof(T));
    values[i] = convert(element);
  }
  return values;
}

template <typename T, typename Convert>
std::string encode(const std::vector<double>& values, Convert convert) {
  std::string raw(values.size() * sizeof(T), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T element = convert(values[i]);
    std::memcpy(raw.data() + i * sizeof(T), &element, sizeof(T));
  }
  return raw;
}

constexpr double max_exact_integer = 1 << 24;

}  // namespace

/// float16, bfloat16, bool and integers of at most 32 bits are stored in int32_data, uint32 in uint64_data.
std::string encode_typed_fields(const onnx::TensorProto& proto) {
  std::string raw;
  const std::size_t width = raw_bytes(proto.data_type(), 2).value_or(0) / 2;
  const auto add = [&](auto element, std::size_t size) { raw.append(reinterpret_cast<const char*>(&element), size); };
  for (const float value : proto.float_data()) add(value, sizeof value);
  for (const double value : proto.double_data()) add(value, sizeof value);
  for (const std::int64_t value : proto.int64_data()) add(value, sizeof value);
  for (const std::uint64_t value : proto.uint64_data()) add(value, std::min(width, sizeof value));
  for (const std::int32_t value : proto.int32_data()) {
    const bool is_bool = proto.data_type() == onnx::TensorProto::BOOL;
    add(is_bool ? std::int32_t{value != 0} : value, std::min(width, sizeof value));
  }
  return raw;
}

std::vector<double> decode_elements(int onnx_type, std::string_view raw) {
  const auto as_number = [](auto element) { return static_cast<double>(element); };
  switch (onnx_type) {
    case onnx::TensorProto::FLOAT16:
      return decode<std::uint16_t>(raw, from_float16);
    case onnx::TensorProto::BFLOAT16:
      return decode<std::uint16_t>(raw, from_bfloat16);
    case onnx::TensorProto::DOUBLE:
      return decode<double>(raw, as_number);
    case onnx::TensorProto::BOOL:
      return decode<std::uint8_t>(raw, [](std::uint8_t element) { return element != 0 ? 1.0 : 0.0; });
    case onnx::TensorProto::INT64:
      return decode<std::int64_t>(raw, as_number);
    case onnx::TensorProto::INT32:
      return decode<std::int32_t>(raw, as_number);
    default:
      return decode<float>(raw, as_number);
  }
}

std::optional<algebra::Tensor> to_tensor(const onnx::TensorProto& proto, std::optional<std::string_view> raw) {
  const auto data_type = to_data_type(proto.data_type());
  const auto count = element_count(proto);
  if (!data_type || !count) return std::nullopt;
  std::string fields;
  if (!raw) raw = fields = encode_typed_fields(proto);
  if (raw->size() != raw_bytes(proto.data_type(), *count)) return std::nullopt;
  algebra::Tensor tensor{{proto.dims().begin(), proto.dims().end()}, decode_elements(proto.data_type(), *raw)};
  const auto too_large = [](double value) { return std::fabs(value) >= max_exact_integer; };
  if (data_type == DataType::Integer && std::ranges::any_of(tensor.values, too_large)) return std::nullopt;
  return tensor;
}

onnx::TensorProto make_tensor_proto(const std::string& name, const algebra::Tensor& tensor, DataType data_type) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(to_onnx_type(data_type));
  for (std::int64_t dim : tensor.shape) proto.add_dims(dim);
  const std::vector<double>& values = tensor.values;
  const auto as_float = [](double value) { return static_cast<float>(value); };
  if (data_type == DataType::Float16) {
    proto.set_raw_data(encode<std::uint16_t>(values, [&](double value) { return to_float16(as_float(value)); }));
  } else if (data_type == DataType::BFloat16) {
    proto.set_raw_data(encode<std::uint16_t>(values, [&](double value) { return to_bfloat16(as_float(value)); }));
  } else if (data_type == DataType::Float64) {
    proto.set_raw_data(encode<double>(values, std::identity()));
  } else if (data_type == DataType::Bool) {
    proto.set_raw_data(encode<std::uint8_t>(values, [](double value) { return std::uint8_t{value != 0}; }));
  } else if (data_type == DataType::Integer) {
    proto.set_raw_data(encode<std::int64_t>(values, [](double value) { return static_cast<std::int64_t>(value); }));
  } else {
    proto.set_raw_data(encode<float>(values, as_float));
  }
  const auto overflows = [&](double value) {
    return std::isfinite(value) && !std::isfinite(rounded(value, data_type));
  };
  if (std::ranges::any_of(values, overflows))
    throw runtime::Error("constant folding", "finite weights would become infinite or NaN");
  return proto;
}

namespace {

/// -2^63 has no negation.
template <class Range>
bool are_negatable(const Range& numbers) {
  return std::ranges::none_of(numbers, [](std::int64_t n) { return n == std::numeric_limits<std::int64_t>::min(); });
}

}  // namespace

std::optional<OnnxLiteral> to_literal(const onnx::TensorProto& proto) {
  if (proto.dims_size() > 1) return std::nullopt;
  OnnxLiteral literal;
  literal.is_list = proto.dims_size() == 1;
  if (proto.data_type() == onnx::TensorProto::INT64) {
    auto values = elements<std::int64_t>(proto, inline_raw_data(proto), proto.int64_data());
    if (!values) return std::nullopt;
    // The minimum marks a position before the start; the next integer does too, and has a negation.
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t value : *values) literal.integers.emplace_back(std::max(value, lowest + 1));
    return literal;
  }
  if (proto.data_type() == onnx::TensorProto::INT32) {
    auto values = elements<std::int32_t>(proto, inline_raw_data(proto), proto.int32_data());
    if (!values) return std::nullopt;
    literal.integers.assign(values->begin(), values->end());
    return literal;
  }
  constexpr std::uint64_t max_list_length = 16;
  const auto data_type = to_data_type(proto.data_type());
  if (!data_type || data_type == DataType::Bool || element_count(proto).value_or(max_list_length) >= max_list_length)
    return std::nullopt;
  auto number = to_tensor(proto, inline_raw_data(proto));
  if (!number || number->values.empty()) return std::nullopt;
  if (number->values.size() == 1) {
    literal.float_value = number->values[0];
    return literal;
  }
  if (data_type != DataType::Float32) return std::nullopt;
  literal.as_float32 = true;
  for (const double value : number->values) {
    if (std::nearbyint(value) != value || std::fabs(value) > 1e6) return std::nullopt;
    literal.integers.emplace_back(static_cast<std::int64_t>(value));
  }
  return literal;
}

onnx::TensorProto make_integer_proto(const std::string& name, const OnnxLiteral& literal) {
  if (literal.as_float32) {
    algebra::Tensor tensor{{static_cast<std::int64_t>(literal.integers.size())}, {}};
    for (const algebra::Poly& value : literal.integers)
      tensor.values.push_back(static_cast<double>(value.constant().value()));
    return make_tensor_proto(name, tensor);
  }
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::INT64);
  if (literal.is_list) proto.add_dims(static_cast<std::int64_t>(literal.integers.size()));
  for (const algebra::Poly& value : literal.integers) proto.add_int64_data(value.constant().value());
  return proto;
}

OnnxLiteral attribute_to_literal(const onnx::AttributeProto& proto) {
  OnnxLiteral literal;
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      literal.is_unsupported = !are_negatable(std::array{proto.i()});
      if (!literal.is_unsupported) literal.integers = {proto.i()};
      break;
    case onnx::AttributeProto::INTS:
      literal.is_list = true;
      literal.is_unsupported = !are_negatable(proto.ints());
      if (!literal.is_unsupported) literal.integers.assign(proto.ints().begin(), proto.ints().end());
      break;
    case onnx::AttributeProto::STRING:
      literal.string_value = proto.s();
      break;
    case onnx::AttributeProto::FLOAT:
      literal.float_value = proto.f();
      break;
    case onnx::AttributeProto::FLOATS:
      literal.is_unsupported = true;
      literal.floats.assign(proto.floats().begin(), proto.floats().end());
      break;
    case onnx::AttributeProto::TENSOR: {
      const auto number = proto.t().data_type() == onnx::TensorProto::FLOAT && element_count(proto.t()) == 1
                              ? to_tensor(proto.t(), inline_raw_data(proto.t()))
                              : std::nullopt;
      literal.is_unsupported = !number;
      literal.as_float32 = true;
      if (number) literal.float_value = number->values[0];
      break;
    }
    default:
      literal.is_unsupported = true;
  }
  return literal;
}

onnx::AttributeProto make_attribute_proto(const std::string& name, const OnnxLiteral& literal) {
  onnx::AttributeProto proto;
  proto.set_name(name);
  if (literal.string_value) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(*literal.string_value);
  } else if (literal.float_value && literal.as_float32) {
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = make_tensor_proto("", {{1}, {*literal.float_value}});
  } else if (literal.float_value) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*literal.float_value));
  } else if (literal.is_list) {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const algebra::Poly& value : literal.integers) proto.add_ints(value.constant().value());
  } else {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(literal.integers.at(0).constant().value());
  }
  return proto;
}

std::uint64_t stored_bytes(const OnnxModelProto& model, const onnx::TensorProto& initializer) {
  if (auto raw = model.raw(initializer)) return raw->size();
  return raw_bytes(initializer.data_type(), element_count(initializer).value_or(0)).value_or(0);
}

std::string printable(const std::string& name) {
  constexpr std::size_t max_length = 60;
  std::string text;
  for (char c : name.substr(0, max_length)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return name.size() > max_length ? text + "..." : text;
}

}  // namespace rulemill::optimize
