// The operators that make tensors of sizes, or whose results are known by their dimensions only.
#include <algorithm>
#include <cmath>
#include <map>

#include "algebra/sizes/checked.h"
#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/operators/arguments.h"
#include "optimize/onnx/operators/element_function.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize::operators {
namespace {

using algebra::Poly;
using Proto = onnx::TensorProto;
using Known = std::optional<KnownTensor>;

/// Returns the fill of a ConstantOfShape: one element.
std::optional<RawTensor> fill_of(const onnx::NodeProto& node) {
  const onnx::AttributeProto* value = find_attribute(node, "value");
  if (value == nullptr) return make_raw_tensor(Proto::FLOAT, {}, std::string(sizeof(float), '\0'));
  auto fill = to_raw_tensor(value->t(), inline_raw_data(value->t()));
  if (!fill || fill->count() != 1) return std::nullopt;
  fill->dims.clear();
  return fill;
}

/// The factor as a quotient of small numbers that float32 multiplies exactly; nullopt if it is none.
std::optional<std::pair<std::int64_t, std::int64_t>> simple_factor(float factor) {
  for (const std::int64_t divisor : {1, 2, 4, 8, 16}) {
    const float dividend = factor * static_cast<float>(divisor);
    if (dividend >= 1 && dividend <= 16 && dividend == std::floor(dividend))
      return std::pair(static_cast<std::int64_t>(dividend), divisor);
  }
  return std::nullopt;
}

/// floor(dimension * factor), in float32.
Dimension scaled(const Arguments& arguments, const Dimension& dim, float factor) {
  if (!dim || !(factor > 0)) return std::nullopt;
  if (const auto number = dim->constant()) {
    const float product = static_cast<float>(*number) * factor;
    return product < 1e9F ? Dimension(Poly(static_cast<std::int64_t>(product))) : std::nullopt;
  }
  const auto simple = simple_factor(factor);
  return simple ? Dimension(arguments.symbols().floor_div(*dim * simple->first, simple->second)) : std::nullopt;
}

}  // namespace

Known constant(const Arguments& arguments) {
  if (arguments.node.attribute_size() != 1) return std::nullopt;
  const onnx::AttributeProto& attribute = arguments.node.attribute(0);
  const auto tensor = [](int type, Dims dims, const auto& values) {
    using Element = std::remove_cvref_t<decltype(*values.begin())>;
    const std::vector<Element> list(values.begin(), values.end());
    return make_known(make_raw_tensor(
        type, std::move(dims), std::string(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(Element))));
  };
  switch (attribute.type()) {
    case onnx::AttributeProto::TENSOR: {
      auto value = to_raw_tensor(attribute.t(), inline_raw_data(attribute.t()));
      return value ? make_known(std::move(*value)) : KnownTensor{attribute.t().data_type()};
    }
    case onnx::AttributeProto::INT:
      return tensor(Proto::INT64, {}, std::vector{attribute.i()});
    case onnx::AttributeProto::INTS:
      return tensor(Proto::INT64, {attribute.ints_size()}, attribute.ints());
    case onnx::AttributeProto::FLOAT:
      return tensor(Proto::FLOAT, {}, std::vector{attribute.f()});
    case onnx::AttributeProto::FLOATS:
      return tensor(Proto::FLOAT, {attribute.floats_size()}, attribute.floats());
    default:
      return std::nullopt;  // strings and sparse tensors
  }
}

Known constant_of_shape(const Arguments& arguments) {
  const auto fill = fill_of(arguments.node);
  const auto dims = arguments.list(0).values;
  if (!fill) return std::nullopt;
  if (!dims) return KnownTensor{fill->type};
  return move_elements(make_known(*fill), repeat_elements({}, *dims), arguments.context);
}

/// Ones on a diagonal. The type is that of the input unless it is given.
Known eye_like(const Arguments& arguments) {
  const int type = static_cast<int>(arguments.integer("dtype", arguments.input(0).type));
  Known result = KnownTensor{type, arguments.input(0).dims};
  const auto dims = to_numbers(result->dims);
  if (!dims || dims->size() != 2 || !is_small(*dims, Proto::INT64, arguments.context.max_bytes)) return result;
  const std::int64_t rows = (*dims)[0], columns = (*dims)[1], diagonal = arguments.integer("k", 0);
  Dims elements(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    if (-i <= diagonal && diagonal < columns - i) elements[static_cast<std::size_t>(i * columns + i + diagonal)] = 1;
  }
  result->numbers = convert_elements(make_integer_tensor(*dims, elements), type);
  return result;
}

Known shape(const Arguments& arguments) {
  Known result = KnownTensor{Proto::INT64};
  if (!arguments.dims()) return result;
  const auto rank = static_cast<std::int64_t>(arguments.dims()->size());
  const auto position = [&](const char* name, std::int64_t default_value) {
    const std::int64_t at = arguments.integer(name, default_value);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = position("start", 0), end = std::max(start, position("end", rank));
  const auto known = to_shape(Dimensions(arguments.dims()->begin() + start, arguments.dims()->begin() + end));
  result->dims = {Poly(end - start)};
  return known ? make_known(Proto::INT64, {end - start}, *known, arguments.context) : result;
}

Known size(const Arguments& arguments) {
  const Dimension count = arguments.dims() ? product(*arguments.dims()) : std::nullopt;
  return count ? make_known(Proto::INT64, {}, {*count}, arguments.context) : KnownTensor{Proto::INT64, Dimensions()};
}

Known range(const Arguments& arguments) {
  const int type = arguments.input(0).type;
  const Dimension start = arguments.single(0), end = arguments.single(1), step = arguments.single(2);
  Known result = KnownTensor{type, Dimensions(1)};
  const auto delta = step ? step->constant() : std::nullopt;
  if ((type != Proto::INT64 && type != Proto::INT32) || !start || !end || !delta || *delta == 0) return result;
  const auto number = [](const Poly& poly) { return static_cast<double>(poly.constant().value_or(0)); };
  constexpr double max_distance = 0x1p40;  // that runtimes divide exactly
  // Above it the size stays unknown: the ONNX library, which is not asked then, overflows.
  if (std::abs(number(*end) - number(*start)) > max_distance || std::abs(number(*step)) > max_distance) return result;
  const Poly distance = *delta > 0 ? *end - *start : *start - *end;
  const Poly count = arguments.symbols().floor_div(distance + (std::abs(*delta) - 1), std::abs(*delta));
  result->dims = {arguments.symbols().max(count, 0)};
  const auto length = to_numbers(result->dims);
  if (!length || !is_small(*length, type, arguments.context.max_bytes)) return result;
  std::vector<Poly> elements;
  for (std::int64_t i = 0; i < length->front(); ++i) elements.push_back(*start + algebra::checked_multiply(i, *delta));
  return make_known(type, *length, elements, arguments.context);
}

/// Of a number without dimensions ONNX and runtimes differ.
Known nonzero(const Arguments& arguments) {
  Known result = KnownTensor{Proto::INT64};
  if (!arguments.dims() || arguments.dims()->empty()) return result;
  const std::size_t rank = arguments.dims()->size();
  result->dims = {Poly(static_cast<std::int64_t>(rank)), std::nullopt};
  const auto& numbers = arguments.input(0).numbers;
  const auto elements = numbers ? numbers->integers() : std::nullopt;
  const auto all = static_cast<std::int64_t>(elements ? elements->size() : 0), rows = static_cast<std::int64_t>(rank);
  if (!elements || !is_small({all, rows}, Proto::INT64, arguments.context.max_bytes)) return result;
  const Dims strides = row_major_strides(numbers->dims);
  Dims indices;
  for (std::size_t d = 0; d < rank; ++d) {
    for (std::int64_t i = 0; i < all; ++i)
      if ((*elements)[static_cast<std::size_t>(i)] != 0) indices.push_back(i / strides[d] % numbers->dims[d]);
  }
  return make_known(make_integer_tensor({rows, static_cast<std::int64_t>(indices.size() / rank)}, indices));
}

/// An equation with a result and without an ellipsis. A letter that occurs twice is broadcast.
Known einsum(const Arguments& arguments) {
  Known result = KnownTensor{arguments.input(0).type};
  const onnx::AttributeProto* equation = find_attribute(arguments.node, "equation");
  std::string letters = equation == nullptr ? "" : equation->s();
  std::erase(letters, ' ');
  const std::size_t arrow = letters.find("->");
  if (arrow == std::string::npos || letters.find('.') != std::string::npos) return result;
  std::map<char, Dimensions> dims;
  std::size_t axis = 0;
  int input = 0;
  for (const char letter : letters.substr(0, arrow)) {
    if (letter == ',') {
      ++input;
      axis = 0;
      continue;
    }
    if (!arguments.dims(input) || axis >= arguments.dims(input)->size()) return result;
    const Dimensions one = {(*arguments.dims(input))[axis++]};
    const auto [entry, added] = dims.emplace(letter, one);
    const auto both = arguments.broadcast(entry->second, one);
    if (!both) return result;
    entry->second = *both;
  }
  Dimensions found;
  for (const char letter : letters.substr(arrow + 2)) {
    if (!dims.contains(letter)) return result;
    found.push_back(dims.at(letter)[0]);
  }
  result->dims = std::move(found);
  return result;
}

/// By scales or sizes of all axes.
Known resize(const Arguments& arguments) {
  Known result = KnownTensor{arguments.input(0).type};
  constexpr int opset_of_regions = 11, sizes = 3;
  const int scales = arguments.node.op_type() == "Resize" && arguments.opset >= opset_of_regions ? 2 : 1;
  const onnx::AttributeProto* mode = find_attribute(arguments.node, "coordinate_transformation_mode");
  const bool is_plain = find_attribute(arguments.node, "axes") == nullptr &&
                        find_attribute(arguments.node, "keep_aspect_ratio_policy") == nullptr &&
                        (mode == nullptr || mode->s() != "tf_crop_and_resize");
  if (!arguments.dims() || !is_plain) return result;
  result->dims = Dimensions(arguments.dims()->size());
  const auto requested = arguments.list(sizes).values;
  const auto& factors = arguments.input(scales).numbers;
  if (requested && requested->size() == result->dims->size()) {
    result->dims = *requested;
  } else if (factors && factors->type == Proto::FLOAT &&
             factors->count() == static_cast<std::int64_t>(result->dims->size())) {
    for (std::size_t d = 0; d < result->dims->size(); ++d)
      (*result->dims)[d] = scaled(arguments, (*arguments.dims())[d], factors->element<float>(d));
  }
  return result;
}

}  // namespace rulemill::optimize::operators
