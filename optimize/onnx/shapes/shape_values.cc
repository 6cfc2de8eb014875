#include "optimize/onnx/shapes/shape_values.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "optimize/onnx/shapes/size_operators.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

using algebra::Poly;
using EvaluatedShape = std::optional<ShapeValue>;

constexpr std::int64_t max_elements = 64;

std::optional<std::int64_t> number(const ShapeOperand& operand) {
  if (operand.value == nullptr || operand.value->elements.size() != 1) return std::nullopt;
  return operand.value->elements[0].constant();
}

class ShapeEvaluator {
 public:
  ShapeEvaluator(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs, algebra::Symbols& symbols)
      : node_(node), op_(size_operator(node.op_type())), inputs_(inputs), symbols_(symbols) {}

  EvaluatedShape run() {
    using Method = EvaluatedShape (ShapeEvaluator::*)();
    static const std::map<SizeOperator, Method> methods = {
        {SizeOperator::Shape, &ShapeEvaluator::shape},
        {SizeOperator::Size, &ShapeEvaluator::size},
        {SizeOperator::Gather, &ShapeEvaluator::gather},
        {SizeOperator::Slice, &ShapeEvaluator::slice},
        {SizeOperator::Concat, &ShapeEvaluator::concat},
        {SizeOperator::Unsqueeze, &ShapeEvaluator::change_rank},
        {SizeOperator::Squeeze, &ShapeEvaluator::change_rank},
        {SizeOperator::Reshape, &ShapeEvaluator::reshape},
        {SizeOperator::Cast, &ShapeEvaluator::cast},
        {SizeOperator::Identity, &ShapeEvaluator::identity},
        {SizeOperator::Range, &ShapeEvaluator::range},
        {SizeOperator::ConstantOfShape, &ShapeEvaluator::constant_of_shape},
        {SizeOperator::Expand, &ShapeEvaluator::expand},
        {SizeOperator::Where, &ShapeEvaluator::where},
        {SizeOperator::Transpose, &ShapeEvaluator::transpose},
        {SizeOperator::ReduceProd, &ShapeEvaluator::reduce_prod},
        {SizeOperator::Neg, &ShapeEvaluator::negate},
        {SizeOperator::Not, &ShapeEvaluator::logical_not},
    };
    if (node_.output_size() != 1 || !op_) return std::nullopt;
    const auto method = methods.find(*op_);
    EvaluatedShape result = method == methods.end() ? elementwise() : (this->*method->second)();
    if (result) result->is_float = returns_float();
    return result;
  }

 private:
  const ShapeValue* value(std::size_t input) const { return input < inputs_.size() ? inputs_[input].value : nullptr; }

  std::int64_t attribute(const std::string& name, std::int64_t default_value) const {
    for (const auto& attribute_proto : node_.attribute()) {
      if (attribute_proto.name() == name && attribute_proto.type() == onnx::AttributeProto::INT)
        return attribute_proto.i();
    }
    return default_value;
  }

  bool reads_float() const {
    return std::ranges::any_of(
        inputs_, [](const ShapeOperand& operand) { return operand.value != nullptr && operand.value->is_float; });
  }

  bool returns_float() const {
    if (op_ == SizeOperator::Shape || op_ == SizeOperator::Size || returns_bool(*op_)) return false;
    if (op_ != SizeOperator::Cast) return reads_float();
    const std::int64_t to = attribute("to", 0);
    return to != onnx::TensorProto::INT64 && to != onnx::TensorProto::INT32 && to != onnx::TensorProto::BOOL;
  }

  EvaluatedShape shape() {
    if (inputs_.empty() || inputs_[0].shape == nullptr) return std::nullopt;
    const algebra::Shape& dims = *inputs_[0].shape;
    const auto rank = static_cast<std::int64_t>(dims.size());
    auto position = [&](const char* name, std::int64_t default_value) {
      const std::int64_t requested = attribute(name, default_value);
      return std::clamp<std::int64_t>(requested < 0 ? requested + rank : requested, 0, rank);
    };
    const std::int64_t start = position("start", 0), end = std::max(start, position("end", rank));
    return ShapeValue{{end - start}, {dims.begin() + start, dims.begin() + end}};
  }

  EvaluatedShape size() {
    if (inputs_.empty() || inputs_[0].shape == nullptr) return std::nullopt;
    Poly count(1);
    for (const Poly& dim : *inputs_[0].shape) count = count * dim;
    return ShapeValue{{}, {count}};
  }

  EvaluatedShape gather() {
    const ShapeValue *data = value(0), *indices = value(1);
    if (data == nullptr || indices == nullptr || data->dims.size() != 1 || attribute("axis", 0) > 0)
      return std::nullopt;
    ShapeValue result{indices->dims, {}};
    const auto length = static_cast<std::int64_t>(data->elements.size());
    for (const Poly& index : indices->elements) {
      const auto at = index.constant();
      if (!at || *at < -length || *at >= length) return std::nullopt;
      result.elements.push_back(data->elements[static_cast<std::size_t>(*at < 0 ? *at + length : *at)]);
    }
    return result;
  }

  /// Slices the first axis; a step of -1 reverses it.
  EvaluatedShape slice() {
    const ShapeValue* data = value(0);
    if (data == nullptr || data->dims.empty() || inputs_.size() < 3 || data->elements.empty()) return std::nullopt;
    const auto start = number(inputs_[1]), end = number(inputs_[2]);
    const auto axis = inputs_.size() > 3 ? number(inputs_[3]) : std::optional<std::int64_t>(0);
    const auto step = inputs_.size() > 4 ? number(inputs_[4]) : std::optional<std::int64_t>(1);
    const auto rank = static_cast<std::int64_t>(data->dims.size());
    if (!start || !end || !axis || !step || (*axis != 0 && *axis != -rank)) return std::nullopt;
    const std::int64_t length = data->dims[0];
    if (*step < 1 && (*step != -1 || *start != -1 || *end > -length)) return std::nullopt;
    auto position = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + length : at, 0, length); };
    ShapeValue result{data->dims, {}};
    result.dims[0] = 0;
    auto take = [&](std::int64_t row) {
      const std::size_t width = data->elements.size() / static_cast<std::size_t>(length);
      const auto first = data->elements.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * width);
      result.elements.insert(result.elements.end(), first, first + static_cast<std::ptrdiff_t>(width));
      ++result.dims[0];
    };
    for (std::int64_t i = position(*start); *step > 0 && i < position(*end); i += *step) take(i);
    for (std::int64_t i = length - 1; *step < 0 && i >= 0; --i) take(i);
    return result;
  }

  EvaluatedShape transpose() {
    const ShapeValue* data = value(0);
    if (data == nullptr || data->dims.size() != 2 || node_.attribute_size() != 1) return std::nullopt;
    const auto& order = node_.attribute(0).ints();
    if (order.size() != 2 || order.Get(0) != 1) return std::nullopt;
    ShapeValue result{{data->dims[1], data->dims[0]}, {}};
    for (std::int64_t c = 0; c < data->dims[1]; ++c) {
      for (std::int64_t r = 0; r < data->dims[0]; ++r)
        result.elements.push_back(data->elements[static_cast<std::size_t>(r * data->dims[1] + c)]);
    }
    return result;
  }

  EvaluatedShape concat() {
    ShapeValue result;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ShapeValue* operand = value(i);
      if (operand == nullptr || operand->dims.size() != 1) return std::nullopt;
      result.elements.insert(result.elements.end(), operand->elements.begin(), operand->elements.end());
      if (result.elements.size() > static_cast<std::size_t>(max_elements)) return std::nullopt;
    }
    result.dims = {static_cast<std::int64_t>(result.elements.size())};
    return result;
  }

  EvaluatedShape identity() {
    const ShapeValue* data = value(0);
    return data == nullptr ? std::nullopt : EvaluatedShape(*data);
  }

  /// Returns the largest number up to which the element type has all integers; 0 for types that are not followed.
  static std::int64_t max_exact_integer(std::int64_t onnx_type) {
    switch (onnx_type) {
      case onnx::TensorProto::INT64:
        return std::numeric_limits<std::int64_t>::max();
      case onnx::TensorProto::INT32:
        return std::numeric_limits<std::int32_t>::max();
      case onnx::TensorProto::DOUBLE:
        return std::int64_t{1} << 53;
      case onnx::TensorProto::FLOAT:
        return std::int64_t{1} << 24;
      case onnx::TensorProto::FLOAT16:
        return std::int64_t{1} << 11;
      default:
        return 0;
    }
  }

  EvaluatedShape cast() {
    EvaluatedShape result = identity();
    if (!result) return std::nullopt;
    const std::int64_t to = attribute("to", 0), limit = max_exact_integer(to);
    for (Poly& element : result->elements) {
      const auto number = element.constant();
      if (to == onnx::TensorProto::BOOL) {
        if (!number && !symbols_.is_positive(element)) return std::nullopt;
        element = Poly(number == 0 ? 0 : 1);
      } else if (limit == 0 || (number && (*number > limit || *number < -limit))) {
        return std::nullopt;
      }
    }
    return result;
  }

  /// The order of elements stays; only the dimensions change.
  EvaluatedShape reshape() {
    EvaluatedShape result = identity();
    constexpr std::size_t max_rank = 8;
    if (!result || value(1) == nullptr || value(1)->elements.size() > max_rank) return std::nullopt;
    const auto count = static_cast<std::int64_t>(result->elements.size());
    std::vector<std::int64_t> dims;
    std::int64_t known = 1;
    for (const Poly& requested : value(1)->elements) {
      const auto dim = requested.constant();
      if (!dim || *dim == 0 || *dim > max_elements) return std::nullopt;
      dims.push_back(*dim);
      known *= *dim < 0 ? 1 : *dim;
    }
    for (std::int64_t& dim : dims) dim = dim < 0 ? count / known : dim;
    std::int64_t all = 1;
    for (const std::int64_t dim : dims) all *= dim;
    if (all != count) return std::nullopt;
    result->dims = dims;
    return result;
  }

  /// Converts between a scalar and a list of one element.
  EvaluatedShape change_rank() {
    EvaluatedShape result = identity();
    const bool grows = op_ == SizeOperator::Unsqueeze;
    if (!result || result->dims.size() != (grows ? 0U : 1U) || result->elements.size() != 1) return std::nullopt;
    result->dims.clear();
    if (grows) result->dims.push_back(1);
    return result;
  }

  EvaluatedShape range() {
    if (inputs_.size() != 3) return std::nullopt;
    const auto start = number(inputs_[0]), end = number(inputs_[1]), step = number(inputs_[2]);
    auto small = [](std::int64_t number) { return number > -(1 << 20) && number < (1 << 20); };
    if (!start || !end || !step || !small(*start) || !small(*end) || *step < 1) return std::nullopt;
    if ((*end - *start) / *step >= max_elements) return std::nullopt;
    ShapeValue result;
    for (std::int64_t at = *start; at < *end; at += *step) result.elements.emplace_back(at);
    result.dims = {static_cast<std::int64_t>(result.elements.size())};
    return result;
  }

  /// Returns the dimensions in a value, if they are small numbers.
  std::optional<std::vector<std::int64_t>> dims_of(const ShapeValue* requested) const {
    if (requested == nullptr) return std::nullopt;
    std::vector<std::int64_t> dims;
    std::int64_t count = 1;
    for (const Poly& dim : requested->elements) {
      const auto size = dim.constant();
      if (!size || *size < 0 || *size > max_elements) return std::nullopt;
      dims.push_back(*size);
      count *= *size;
      if (count > max_elements) return std::nullopt;
    }
    return dims;
  }

  EvaluatedShape constant_of_shape() {
    const auto dims = dims_of(value(0));
    if (!dims || dims->size() > 1) return std::nullopt;
    std::int64_t fill = 0;
    for (const auto& attribute_proto : node_.attribute()) {
      if (attribute_proto.name() != "value") continue;
      if (attribute_proto.t().data_type() != onnx::TensorProto::INT64) return std::nullopt;
      if (attribute_proto.t().int64_data_size() == 1) {
        fill = attribute_proto.t().int64_data(0);
      } else if (attribute_proto.t().raw_data().size() == sizeof(fill)) {
        std::copy_n(attribute_proto.t().raw_data().data(), sizeof(fill), reinterpret_cast<char*>(&fill));
      } else {
        return std::nullopt;
      }
    }
    return ShapeValue{*dims, std::vector<Poly>(dims->empty() ? 1 : static_cast<std::size_t>(dims->at(0)), Poly(fill))};
  }

  EvaluatedShape expand() {
    const auto dims = dims_of(value(1));
    const ShapeValue* data = value(0);
    if (!dims || data == nullptr || dims->size() != 1 || data->elements.size() != 1) return std::nullopt;
    return ShapeValue{*dims, std::vector<Poly>(static_cast<std::size_t>(dims->at(0)), data->elements[0])};
  }

  EvaluatedShape reduce_prod() {
    EvaluatedShape result = identity();
    if (!result || result->dims.size() > 1 || attribute("keepdims", 1) != 0) return std::nullopt;
    Poly all(1);
    for (const Poly& element : result->elements) all = all * element;
    return ShapeValue{{}, {all}};
  }

  EvaluatedShape negate() {
    EvaluatedShape result = identity();
    if (!result) return std::nullopt;
    for (Poly& element : result->elements) element = -element;
    return result;
  }

  EvaluatedShape logical_not() {
    EvaluatedShape result = identity();
    if (!result) return std::nullopt;
    for (Poly& element : result->elements) {
      const auto value = element.constant();
      if (!value) return std::nullopt;
      element = Poly(*value == 0 ? 1 : 0);
    }
    return result;
  }

  /// Returns the common length; scalars and lists of one element are broadcast.
  std::optional<std::vector<std::int64_t>> common_dims() const {
    std::vector<std::int64_t> dims;
    for (const ShapeOperand& operand : inputs_) {
      if (operand.value == nullptr || operand.value->dims.size() > 1) return std::nullopt;
      const std::vector<std::int64_t>& own = operand.value->dims;
      if (dims.empty() || (dims[0] == 1 && !own.empty()))
        dims = own;
      else if (!own.empty() && own[0] != dims[0] && own[0] != 1)
        return std::nullopt;
    }
    return dims;
  }

  const Poly& element(std::size_t input, std::size_t i) const {
    const std::vector<Poly>& all = value(input)->elements;
    return all.size() == 1 ? all[0] : all[i];
  }

  EvaluatedShape map_elements(const std::function<std::optional<Poly>(std::size_t)>& one) {
    const auto dims = common_dims();
    if (!dims) return std::nullopt;
    ShapeValue result{*dims, {}};
    const auto count = static_cast<std::size_t>(dims->empty() ? 1 : dims->at(0));
    for (std::size_t i = 0; i < count; ++i) {
      auto element_value = one(i);
      if (!element_value) return std::nullopt;
      result.elements.push_back(std::move(*element_value));
    }
    return result;
  }

  EvaluatedShape where() {
    if (inputs_.size() != 3) return std::nullopt;
    return map_elements([&](std::size_t i) -> std::optional<Poly> {
      const auto holds = element(0, i).constant();
      if (!holds) return std::nullopt;
      return element(*holds != 0 ? 1 : 2, i);
    });
  }

  EvaluatedShape elementwise() {
    if (inputs_.size() != 2) return std::nullopt;
    return map_elements([&](std::size_t i) { return combine(*op_, element(0, i), element(1, i)); });
  }

  std::optional<Poly> combine(SizeOperator operation, const Poly& a, const Poly& b) {
    using enum SizeOperator;
    const bool divides = operation == Div || operation == Mod;
    if (divides && (!symbols_.is_nonnegative(a) || !symbols_.is_positive(b))) return std::nullopt;
    switch (operation) {
      case Add:
        return a + b;
      case Sub:
        return a - b;
      case Mul:
      case And:
        return a * b;
      case Div: {
        const Poly quotient = symbols_.floor_div(a, b);
        if (reads_float() && quotient * b != a) return std::nullopt;
        return quotient;
      }
      case Mod:
        return symbols_.mod(a, b);
      case Min:
        return symbols_.min(a, b);
      case Max:
      case Or:
        return symbols_.max(a, b);
      case Less:
        return known_bool(symbols_.is_positive(b - a), symbols_.is_nonnegative(a - b));
      case Greater:
        return known_bool(symbols_.is_positive(a - b), symbols_.is_nonnegative(b - a));
      case LessOrEqual:
        return known_bool(symbols_.is_nonnegative(b - a), symbols_.is_positive(a - b));
      case GreaterOrEqual:
        return known_bool(symbols_.is_nonnegative(a - b), symbols_.is_positive(b - a));
      case Equal:
        return known_bool(a == b, symbols_.is_positive(a - b) || symbols_.is_positive(b - a));
      default:
        return std::nullopt;
    }
  }

  static std::optional<Poly> known_bool(bool yes, bool no) {
    if (yes == no) return std::nullopt;
    return Poly(yes ? 1 : 0);
  }

  const onnx::NodeProto& node_;
  std::optional<SizeOperator> op_;
  const std::vector<ShapeOperand>& inputs_;
  algebra::Symbols& symbols_;
};

}  // namespace

std::optional<ShapeValue> evaluate_shape_node(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                                              algebra::Symbols& symbols) {
  try {
    return ShapeEvaluator(node, inputs, symbols).run();
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error&) {
    return std::nullopt;  // overflow or division by zero: the result at run time is undefined
  }
}

}  // namespace rulemill::optimize
