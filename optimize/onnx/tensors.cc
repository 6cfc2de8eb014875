#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "optimize/onnx/model_proto.h"
#include "optimize/rounding.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

/// The elements from raw bytes (little endian, as ONNX says) or from the typed field.
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

/// Bits of an element, by ONNX's number of its type; 0 where it has none or is not known here.
constexpr unsigned element_bits[] = {0,  32, 8,   8,  16, 16, 32, 64, 0, 8, 16, 64, 32,
                                     64, 64, 128, 16, 8,  8,  8,  8,  4, 4, 4,  8};

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
      for (auto& body : *attribute.mutable_graphs()) for_each_tensor(body, true, visit);
    }
  }
}

}  // namespace

std::optional<std::string_view> OnnxModel::Proto::raw(const onnx::TensorProto& initializer) const {
  auto found = elsewhere.find(initializer.name());
  return found == elsewhere.end() ? raw_inside(initializer) : std::optional(found->second);
}

std::optional<std::string_view> raw_inside(const onnx::TensorProto& proto) {
  return proto.has_raw_data() ? std::optional<std::string_view>(proto.raw_data()) : std::nullopt;
}

void for_each_inner_tensor(onnx::GraphProto& graph, const std::function<void(onnx::TensorProto&)>& visit) {
  for_each_tensor(graph, false, visit);
}

std::optional<std::uint64_t> element_count(const onnx::TensorProto& proto) {
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  std::uint64_t count = 1;
  bool empty = false;
  for (std::int64_t dim : proto.dims()) {
    if (dim < 0) return std::nullopt;
    empty = empty || dim == 0;
  }
  if (empty) return 0;
  for (std::int64_t dim : proto.dims()) {
    if (static_cast<std::uint64_t>(dim) > most / count) return std::nullopt;
    count *= static_cast<std::uint64_t>(dim);
  }
  return count;
}

std::optional<std::uint64_t> raw_bytes(int data_type, std::uint64_t elements) {
  const bool known = data_type >= 0 && data_type < static_cast<int>(std::size(element_bits));
  const unsigned bits = known ? element_bits[data_type] : 0;
  if (bits == 0) return std::nullopt;
  return (elements * bits + 7) / 8;
}

std::optional<Element> element_of(int data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT:
      return Element::Float32;
    case onnx::TensorProto::FLOAT16:
      return Element::Float16;
    case onnx::TensorProto::BFLOAT16:
      return Element::BFloat16;
    case onnx::TensorProto::DOUBLE:
      return Element::Float64;
    case onnx::TensorProto::BOOL:
      return Element::Truth;
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::INT32:
      return Element::Integer;
    default:
      return std::nullopt;
  }
}

int data_type_of(Element element) {
  switch (element) {
    case Element::Float16:
      return onnx::TensorProto::FLOAT16;
    case Element::BFloat16:
      return onnx::TensorProto::BFLOAT16;
    case Element::Float64:
      return onnx::TensorProto::DOUBLE;
    case Element::Truth:
      return onnx::TensorProto::BOOL;
    case Element::Integer:
      return onnx::TensorProto::INT64;
    default:
      return onnx::TensorProto::FLOAT;
  }
}

namespace {

template <typename T, typename Convert>
std::vector<double> converted(std::string_view raw, Convert convert) {
  std::vector<double> values(raw.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, raw.data() + i * sizeof(T), sizeof(T));
    values[i] = convert(element);
  }
  return values;
}

template <typename T, typename Convert>
std::string written(const std::vector<double>& values, Convert convert) {
  std::string raw(values.size() * sizeof(T), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T element = convert(values[i]);
    std::memcpy(raw.data() + i * sizeof(T), &element, sizeof(T));
  }
  return raw;
}

/// The typed fields, as raw bytes: float16, bfloat16, int32 and truths stand in int32_data.
std::string raw_of_fields(const onnx::TensorProto& proto) {
  std::string raw;
  auto add = [&](auto element) { raw.append(reinterpret_cast<const char*>(&element), sizeof(element)); };
  const auto type = proto.data_type();
  const bool two_bytes = type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
  for (const float value : proto.float_data()) add(value);
  for (const double value : proto.double_data()) add(value);
  for (const std::int64_t value : proto.int64_data()) add(value);
  for (const std::int32_t value : proto.int32_data()) {
    if (two_bytes)
      add(static_cast<std::uint16_t>(value));
    else if (type == onnx::TensorProto::BOOL)
      add(static_cast<std::uint8_t>(value != 0));
    else
      add(value);
  }
  return raw;
}

constexpr double largest_whole = 1 << 24;

}  // namespace

std::vector<double> numbers_of(int data_type, std::string_view raw) {
  const auto as_number = [](auto element) { return static_cast<double>(element); };
  switch (data_type) {
    case onnx::TensorProto::FLOAT16:
      return converted<std::uint16_t>(raw, from_float16);
    case onnx::TensorProto::BFLOAT16:
      return converted<std::uint16_t>(raw, from_bfloat16);
    case onnx::TensorProto::DOUBLE:
      return converted<double>(raw, as_number);
    case onnx::TensorProto::BOOL:
      return converted<std::uint8_t>(raw, [](std::uint8_t element) { return element != 0 ? 1.0 : 0.0; });
    case onnx::TensorProto::INT64:
      return converted<std::int64_t>(raw, as_number);
    case onnx::TensorProto::INT32:
      return converted<std::int32_t>(raw, as_number);
    default:
      return converted<float>(raw, as_number);
  }
}

std::optional<algebra::Tensor> number_tensor(const onnx::TensorProto& proto, std::optional<std::string_view> raw) {
  const auto element = element_of(proto.data_type());
  const auto count = element_count(proto);
  if (!element || !count) return std::nullopt;
  std::string fields;
  if (!raw) raw = fields = raw_of_fields(proto);
  if (raw->size() != raw_bytes(proto.data_type(), *count)) return std::nullopt;
  algebra::Tensor tensor{{proto.dims().begin(), proto.dims().end()}, numbers_of(proto.data_type(), *raw)};
  const auto too_large = [](double value) { return std::fabs(value) >= largest_whole; };
  if (element == Element::Integer && std::ranges::any_of(tensor.values, too_large)) return std::nullopt;
  return tensor;
}

onnx::TensorProto number_proto(const std::string& name, const algebra::Tensor& tensor, Element element) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(data_type_of(element));
  for (std::int64_t dim : tensor.shape) proto.add_dims(dim);
  const std::vector<double>& values = tensor.values;
  const auto as_float = [](double value) { return static_cast<float>(value); };
  if (element == Element::Float16) {
    proto.set_raw_data(written<std::uint16_t>(values, [&](double value) { return float16_of(as_float(value)); }));
  } else if (element == Element::BFloat16) {
    proto.set_raw_data(written<std::uint16_t>(values, [&](double value) { return bfloat16_of(as_float(value)); }));
  } else if (element == Element::Float64) {
    proto.set_raw_data(written<double>(values, std::identity()));
  } else if (element == Element::Truth) {
    proto.set_raw_data(written<std::uint8_t>(values, [](double value) { return std::uint8_t{value != 0}; }));
  } else if (element == Element::Integer) {
    proto.set_raw_data(written<std::int64_t>(values, [](double value) { return static_cast<std::int64_t>(value); }));
  } else {
    proto.set_raw_data(written<float>(values, as_float));
  }
  const auto overflows = [&](double value) { return std::isfinite(value) && !std::isfinite(rounded(value, element)); };
  if (std::ranges::any_of(values, overflows))
    throw runtime::Error("constant folding", "finite weights would become infinite or no number");
  return proto;
}

namespace {

/// -2^63 has no size that is its opposite: it is none.
template <class Range>
bool are_sizes(const Range& numbers) {
  return std::ranges::none_of(numbers, [](std::int64_t n) { return n == std::numeric_limits<std::int64_t>::min(); });
}

}  // namespace

std::optional<OnnxLiteral> literal_tensor(const onnx::TensorProto& proto) {
  if (proto.dims_size() > 1) return std::nullopt;
  OnnxLiteral literal;
  literal.is_list = proto.dims_size() == 1;
  if (proto.data_type() == onnx::TensorProto::INT64) {
    auto values = elements<std::int64_t>(proto, raw_inside(proto), proto.int64_data());
    if (!values) return std::nullopt;
    // A position before everything, which the next one is as well, and has an opposite.
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t value : *values) literal.integers.emplace_back(std::max(value, lowest + 1));
    return literal;
  }
  if (proto.data_type() == onnx::TensorProto::INT32) {
    auto values = elements<std::int32_t>(proto, raw_inside(proto), proto.int32_data());
    if (!values) return std::nullopt;
    literal.integers.assign(values->begin(), values->end());
    return literal;
  }
  constexpr std::uint64_t longest_list = 16;
  const auto element = element_of(proto.data_type());
  if (!element || element == Element::Truth || element_count(proto).value_or(longest_list) >= longest_list)
    return std::nullopt;
  auto number = number_tensor(proto, raw_inside(proto));
  if (!number || number->values.empty()) return std::nullopt;
  if (number->values.size() == 1) {
    literal.number = number->values[0];
    return literal;
  }
  if (element != Element::Float32) return std::nullopt;
  literal.reals = true;
  for (const double value : number->values) {
    if (std::nearbyint(value) != value || std::fabs(value) > 1e6) return std::nullopt;
    literal.integers.emplace_back(static_cast<std::int64_t>(value));
  }
  return literal;
}

onnx::TensorProto integer_proto(const std::string& name, const OnnxLiteral& literal) {
  if (literal.reals) {
    algebra::Tensor tensor{{static_cast<std::int64_t>(literal.integers.size())}, {}};
    for (const algebra::Poly& value : literal.integers)
      tensor.values.push_back(static_cast<double>(value.constant().value()));
    return number_proto(name, tensor);
  }
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx::TensorProto::INT64);
  if (literal.is_list) proto.add_dims(static_cast<std::int64_t>(literal.integers.size()));
  for (const algebra::Poly& value : literal.integers) proto.add_int64_data(value.constant().value());
  return proto;
}

OnnxLiteral attribute_literal(const onnx::AttributeProto& proto) {
  OnnxLiteral literal;
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      literal.other = !are_sizes(std::array{proto.i()});
      if (!literal.other) literal.integers = {proto.i()};
      break;
    case onnx::AttributeProto::INTS:
      literal.is_list = true;
      literal.other = !are_sizes(proto.ints());
      if (!literal.other) literal.integers.assign(proto.ints().begin(), proto.ints().end());
      break;
    case onnx::AttributeProto::STRING:
      literal.word = proto.s();
      break;
    case onnx::AttributeProto::FLOAT:
      literal.number = proto.f();
      break;
    case onnx::AttributeProto::TENSOR: {
      const auto number = proto.t().data_type() == onnx::TensorProto::FLOAT && element_count(proto.t()) == 1
                              ? number_tensor(proto.t(), raw_inside(proto.t()))
                              : std::nullopt;
      literal.other = !number;
      literal.reals = true;
      if (number) literal.number = number->values[0];
      break;
    }
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
  } else if (literal.number && literal.reals) {
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = number_proto("", {{1}, {*literal.number}});
  } else if (literal.number) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*literal.number));
  } else if (literal.is_list) {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const algebra::Poly& value : literal.integers) proto.add_ints(value.constant().value());
  } else {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(literal.integers.at(0).constant().value());
  }
  return proto;
}

std::uint64_t data_bytes(const OnnxModel::Proto& model, const onnx::TensorProto& initializer) {
  if (auto raw = model.raw(initializer)) return raw->size();
  return raw_bytes(initializer.data_type(), element_count(initializer).value_or(0)).value_or(0);
}

std::string shown(const std::string& name) {
  constexpr std::size_t longest = 60;
  std::string text;
  for (char c : name.substr(0, longest)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return name.size() > longest ? text + "..." : text;
}

}  // namespace rulemill::optimize
