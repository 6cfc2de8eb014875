#include "optimize/onnx/shape_values.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "optimize/onnx/size_operators.h"
#include "runtime/error.h"

namespace rulemill::optimize {

namespace {

using algebra::Poly;
using Result = std::optional<ShapeValue>;

constexpr std::int64_t most_elements = 64;

std::optional<std::int64_t> number(const ShapeOperand& operand) {
  if (operand.value == nullptr || operand.value->elements.size() != 1) return std::nullopt;
  return operand.value->elements[0].constant();
}

class Evaluation {
 public:
  Evaluation(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs, algebra::Symbols& symbols)
      : node_(node), op_(size_operator(node.op_type())), inputs_(inputs), symbols_(symbols) {}

  Result run() {
    using Method = Result (Evaluation::*)();
    static const std::map<SizeOperator, Method> methods = {
        {SizeOperator::Shape, &Evaluation::shape},
        {SizeOperator::Size, &Evaluation::size},
        {SizeOperator::Gather, &Evaluation::gather},
        {SizeOperator::Slice, &Evaluation::slice},
        {SizeOperator::Concat, &Evaluation::concat},
        {SizeOperator::Unsqueeze, &Evaluation::changed_rank},
        {SizeOperator::Squeeze, &Evaluation::changed_rank},
        {SizeOperator::Reshape, &Evaluation::reshaped},
        {SizeOperator::Cast, &Evaluation::same},
        {SizeOperator::Identity, &Evaluation::same},
        {SizeOperator::Range, &Evaluation::range},
        {SizeOperator::ConstantOfShape, &Evaluation::filled},
        {SizeOperator::Expand, &Evaluation::expanded},
        {SizeOperator::Where, &Evaluation::where},
        {SizeOperator::Transpose, &Evaluation::transposed},
        {SizeOperator::ReduceProd, &Evaluation::product},
        {SizeOperator::Neg, &Evaluation::negated},
        {SizeOperator::Not, &Evaluation::opposite},
    };
    if (node_.output_size() != 1 || !op_) return std::nullopt;
    if (const auto method = methods.find(*op_); method != methods.end()) return (this->*method->second)();
    return elementwise();
  }

 private:
  const ShapeValue* value(std::size_t input) const { return input < inputs_.size() ? inputs_[input].value : nullptr; }

  std::int64_t attribute(const std::string& name, std::int64_t absent) const {
    for (const auto& given : node_.attribute()) {
      if (given.name() == name && given.type() == onnx::AttributeProto::INT) return given.i();
    }
    return absent;
  }

  Result shape() {
    if (inputs_.empty() || inputs_[0].shape == nullptr) return std::nullopt;
    const algebra::Shape& dims = *inputs_[0].shape;
    const auto rank = static_cast<std::int64_t>(dims.size());
    auto position = [&](const char* name, std::int64_t absent) {
      const std::int64_t given = attribute(name, absent);
      return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
    };
    const std::int64_t start = position("start", 0), end = std::max(start, position("end", rank));
    return ShapeValue{{end - start}, {dims.begin() + start, dims.begin() + end}};
  }

  Result size() {
    if (inputs_.empty() || inputs_[0].shape == nullptr) return std::nullopt;
    Poly count(1);
    for (const Poly& dim : *inputs_[0].shape) count = count * dim;
    return ShapeValue{{}, {count}};
  }

  Result gather() {
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

  /// Of the first axis; a step of -1 turns it round.
  Result slice() {
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

  Result transposed() {
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

  Result concat() {
    ShapeValue result;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ShapeValue* part = value(i);
      if (part == nullptr || part->dims.size() != 1) return std::nullopt;
      result.elements.insert(result.elements.end(), part->elements.begin(), part->elements.end());
      if (result.elements.size() > static_cast<std::size_t>(most_elements)) return std::nullopt;
    }
    result.dims = {static_cast<std::int64_t>(result.elements.size())};
    return result;
  }

  Result same() {
    const ShapeValue* data = value(0);
    return data == nullptr ? std::nullopt : Result(*data);
  }

  /// Elements keep their order; only the dimensions change.
  Result reshaped() {
    Result result = same();
    constexpr std::size_t highest_rank = 8;
    if (!result || value(1) == nullptr || value(1)->elements.size() > highest_rank) return std::nullopt;
    const auto count = static_cast<std::int64_t>(result->elements.size());
    std::vector<std::int64_t> dims;
    std::int64_t known = 1;
    for (const Poly& said : value(1)->elements) {
      const auto dim = said.constant();
      if (!dim || *dim == 0 || *dim > most_elements) return std::nullopt;
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

  /// A number becomes a list, a list of one a number.
  Result changed_rank() {
    Result result = same();
    const bool grows = op_ == SizeOperator::Unsqueeze;
    if (!result || result->dims.size() != (grows ? 0U : 1U) || result->elements.size() != 1) return std::nullopt;
    result->dims.clear();
    if (grows) result->dims.push_back(1);
    return result;
  }

  Result range() {
    if (inputs_.size() != 3) return std::nullopt;
    const auto start = number(inputs_[0]), end = number(inputs_[1]), step = number(inputs_[2]);
    auto small = [](std::int64_t number) { return number > -(1 << 20) && number < (1 << 20); };
    if (!start || !end || !step || !small(*start) || !small(*end) || *step < 1) return std::nullopt;
    if ((*end - *start) / *step >= most_elements) return std::nullopt;
    ShapeValue result;
    for (std::int64_t at = *start; at < *end; at += *step) result.elements.emplace_back(at);
    result.dims = {static_cast<std::int64_t>(result.elements.size())};
    return result;
  }

  /// The dimensions that a value says, if they are few numbers.
  std::optional<std::vector<std::int64_t>> dims_of(const ShapeValue* said) const {
    if (said == nullptr) return std::nullopt;
    std::vector<std::int64_t> dims;
    std::int64_t count = 1;
    for (const Poly& dim : said->elements) {
      const auto size = dim.constant();
      if (!size || *size < 0 || *size > most_elements) return std::nullopt;
      dims.push_back(*size);
      count *= *size;
      if (count > most_elements) return std::nullopt;
    }
    return dims;
  }

  Result filled() {
    const auto dims = dims_of(value(0));
    if (!dims || dims->size() > 1) return std::nullopt;
    std::int64_t fill = 0;
    for (const auto& given : node_.attribute()) {
      if (given.name() != "value") continue;
      if (given.t().data_type() != onnx::TensorProto::INT64) return std::nullopt;
      if (given.t().int64_data_size() == 1) {
        fill = given.t().int64_data(0);
      } else if (given.t().raw_data().size() == sizeof(fill)) {
        std::copy_n(given.t().raw_data().data(), sizeof(fill), reinterpret_cast<char*>(&fill));
      } else {
        return std::nullopt;
      }
    }
    return ShapeValue{*dims, std::vector<Poly>(dims->empty() ? 1 : static_cast<std::size_t>(dims->at(0)), Poly(fill))};
  }

  Result expanded() {
    const auto dims = dims_of(value(1));
    const ShapeValue* data = value(0);
    if (!dims || data == nullptr || dims->size() != 1 || data->elements.size() != 1) return std::nullopt;
    return ShapeValue{*dims, std::vector<Poly>(static_cast<std::size_t>(dims->at(0)), data->elements[0])};
  }

  Result product() {
    Result result = same();
    if (!result || attribute("keepdims", 1) != 0) return std::nullopt;
    Poly all(1);
    for (const Poly& element : result->elements) all = all * element;
    return ShapeValue{{}, {all}};
  }

  Result negated() {
    Result result = same();
    if (!result) return std::nullopt;
    for (Poly& element : result->elements) element = -element;
    return result;
  }

  Result opposite() {
    Result result = same();
    if (!result) return std::nullopt;
    for (Poly& element : result->elements) {
      const auto truth = element.constant();
      if (!truth) return std::nullopt;
      element = Poly(*truth == 0 ? 1 : 0);
    }
    return result;
  }

  /// One length for all: elements of a number are repeated.
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

  Result each(const std::function<std::optional<Poly>(std::size_t)>& one) {
    const auto dims = common_dims();
    if (!dims) return std::nullopt;
    ShapeValue result{*dims, {}};
    const auto count = static_cast<std::size_t>(dims->empty() ? 1 : dims->at(0));
    for (std::size_t i = 0; i < count; ++i) {
      auto made = one(i);
      if (!made) return std::nullopt;
      result.elements.push_back(std::move(*made));
    }
    return result;
  }

  Result where() {
    if (inputs_.size() != 3) return std::nullopt;
    return each([&](std::size_t i) -> std::optional<Poly> {
      const auto holds = element(0, i).constant();
      if (!holds) return std::nullopt;
      return element(*holds != 0 ? 1 : 2, i);
    });
  }

  Result elementwise() {
    if (inputs_.size() != 2) return std::nullopt;
    return each([&](std::size_t i) { return combined(*op_, element(0, i), element(1, i)); });
  }

  std::optional<Poly> combined(SizeOperator operation, const Poly& a, const Poly& b) {
    using enum SizeOperator;
    const bool divides = operation == Div || operation == Mod;
    if (divides && (!symbols_.nonnegative(a) || !symbols_.positive(b))) return std::nullopt;
    switch (operation) {
      case Add:
        return a + b;
      case Sub:
        return a - b;
      case Mul:
      case And:
        return a * b;
      case Div:
        return symbols_.floor_div(a, b);
      case Mod:
        return symbols_.mod(a, b);
      case Min:
        return symbols_.min(a, b);
      case Max:
      case Or:
        return symbols_.max(a, b);
      case Less:
        return decided(symbols_.positive(b - a), symbols_.nonnegative(a - b));
      case Greater:
        return decided(symbols_.positive(a - b), symbols_.nonnegative(b - a));
      case LessOrEqual:
        return decided(symbols_.nonnegative(b - a), symbols_.positive(a - b));
      case GreaterOrEqual:
        return decided(symbols_.nonnegative(a - b), symbols_.positive(b - a));
      case Equal:
        return decided(a == b, symbols_.positive(a - b) || symbols_.positive(b - a));
      default:
        return std::nullopt;
    }
  }

  static std::optional<Poly> decided(bool yes, bool no) {
    if (yes == no) return std::nullopt;
    return Poly(yes ? 1 : 0);
  }

  const onnx::NodeProto& node_;
  std::optional<SizeOperator> op_;
  const std::vector<ShapeOperand>& inputs_;
  algebra::Symbols& symbols_;
};

}  // namespace

std::optional<ShapeValue> shape_value(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                                      algebra::Symbols& symbols) {
  try {
    return Evaluation(node, inputs, symbols).run();
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error&) {
    return std::nullopt;  // beyond 64 bits
  }
}

}  // namespace rulemill::optimize
