#include "optimize/onnx/clean/constant_evaluator.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "optimize/onnx/clean/arithmetic.h"
#include "optimize/onnx/clean/element_moves.h"
#include "optimize/onnx/clean/node_arguments.h"

namespace rulemill::optimize {

namespace {

using Evaluated = std::optional<RawTensor>;

class ConstantEvaluator {
 public:
  ConstantEvaluator(const onnx::NodeProto& node, const std::vector<std::optional<RawTensor>>& inputs,
                    std::size_t max_bytes)
      : node_(node), inputs_(inputs), max_bytes_(max_bytes) {}

  std::optional<std::vector<RawTensor>> run() {
    if (node_.op_type() == "Split") return split();
    using Method = Evaluated (ConstantEvaluator::*)();
    static const std::map<std::string, Method> methods = {
        {"Identity", &ConstantEvaluator::identity},
        {"Reshape", &ConstantEvaluator::reshape},
        {"Flatten", &ConstantEvaluator::flatten},
        {"Squeeze", &ConstantEvaluator::squeeze},
        {"Unsqueeze", &ConstantEvaluator::unsqueeze},
        {"Transpose", &ConstantEvaluator::transpose},
        {"Slice", &ConstantEvaluator::slice},
        {"Gather", &ConstantEvaluator::gather},
        {"Concat", &ConstantEvaluator::concat},
        {"Expand", &ConstantEvaluator::expand},
        {"Tile", &ConstantEvaluator::tile},
        {"ConstantOfShape", &ConstantEvaluator::constant_of_shape},
        {"Shape", &ConstantEvaluator::shape},
        {"Size", &ConstantEvaluator::size},
        {"Range", &ConstantEvaluator::range},
        {"NonZero", &ConstantEvaluator::nonzero},
        {"Where", &ConstantEvaluator::where},
        {"Cast", &ConstantEvaluator::cast},
        {"ReduceProd", &ConstantEvaluator::reduce},
        {"ReduceMax", &ConstantEvaluator::reduce},
        {"ReduceMin", &ConstantEvaluator::reduce},
        {"ReduceSum", &ConstantEvaluator::reduce},
        {"GatherElements", &ConstantEvaluator::gather_elements},
        {"Clip", &ConstantEvaluator::clip},
    };
    const auto method = methods.find(node_.op_type());
    if (node_.output_size() != 1 || inputs_.empty() || !inputs_[0]) return std::nullopt;
    Evaluated result = method == methods.end() ? elementwise() : (this->*method->second)();
    if (!result) return std::nullopt;
    return std::vector<RawTensor>{std::move(*result)};
  }

 private:
  const RawTensor& input(std::size_t i) const { return *inputs_[i]; }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].has_value(); }

  std::optional<Dims> integers(std::size_t i, const char* attribute) const {
    if (const onnx::AttributeProto* list = find_attribute(node_, attribute))
      return Dims(list->ints().begin(), list->ints().end());
    return has(i) ? input(i).integers() : std::nullopt;
  }

  bool fits(const Dims& dims, int type) const {
    const auto count = element_count(dims);
    return count && static_cast<std::uint64_t>(*count) * std::max<std::size_t>(element_width(type), 1) <= max_bytes_;
  }

  Evaluated with_dims(Dims dims) const {
    if (element_count(dims) != input(0).count()) return std::nullopt;
    RawTensor result = input(0);
    result.dims = std::move(dims);
    return result;
  }

  Evaluated identity() { return input(0); }

  Evaluated reshape() {
    const auto requested = integers(1, "shape");
    if (!requested) return std::nullopt;
    Dims dims = *requested;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] != 0 || int_attribute(node_, "allowzero", 0) != 0) continue;
      if (d >= input(0).dims.size()) return std::nullopt;
      dims[d] = input(0).dims[d];
    }
    if (const auto inferred = std::ranges::find(dims, -1); inferred != dims.end()) {
      *inferred = 1;
      const auto known = element_count(dims);
      if (!known || *known == 0) return std::nullopt;
      *inferred = input(0).count() / *known;
    }
    return with_dims(std::move(dims));
  }

  Evaluated flatten() {
    const Dims& dims = input(0).dims;
    std::int64_t axis = int_attribute(node_, "axis", 1);
    if (axis < 0) axis += static_cast<std::int64_t>(dims.size());
    if (axis < 0 || axis > static_cast<std::int64_t>(dims.size())) return std::nullopt;
    const std::int64_t rows = std::accumulate(dims.begin(), dims.begin() + axis, std::int64_t{1}, std::multiplies());
    const std::int64_t columns = std::accumulate(dims.begin() + axis, dims.end(), std::int64_t{1}, std::multiplies());
    return with_dims({rows, columns});
  }

  Evaluated squeeze() {
    const Dims& dims = input(0).dims;
    const auto axes = integers(1, "axes");
    const auto marked = axes ? mark_axes(*axes, dims.size()) : std::nullopt;
    if (axes && !marked) return std::nullopt;
    if (!axes && has(1)) return std::nullopt;
    Dims result;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const bool removed = marked ? (*marked)[d] : dims[d] == 1;
      if (removed && dims[d] != 1) return std::nullopt;
      if (!removed) result.push_back(dims[d]);
    }
    return with_dims(std::move(result));
  }

  Evaluated unsqueeze() {
    const auto axes = integers(1, "axes");
    if (!axes) return std::nullopt;
    const auto marked = mark_axes(*axes, input(0).dims.size() + axes->size());
    if (!marked) return std::nullopt;
    Dims result;
    for (std::size_t d = 0, from = 0; d < marked->size(); ++d)
      result.push_back((*marked)[d] ? 1 : input(0).dims[from++]);
    return with_dims(std::move(result));
  }

  Evaluated transpose() {
    const std::size_t rank = input(0).dims.size();
    Dims order(rank);
    std::iota(order.rbegin(), order.rend(), 0);
    if (const auto given = integers(1, "perm")) order = *given;
    const auto marked = mark_axes(order, rank);
    if (!marked || order.size() != rank) return std::nullopt;
    const Dims strides = row_major_strides(input(0).dims);
    Dims dims, permuted;
    for (const std::int64_t from : order) {
      dims.push_back(input(0).dims[static_cast<std::size_t>(from)]);
      permuted.push_back(strides[static_cast<std::size_t>(from)]);
    }
    if (!fits(dims, input(0).type)) return std::nullopt;
    return strided_copy(input(0), dims, permuted, 0);
  }

  Evaluated slice() {
    const auto starts = integers(1, "starts"), ends = integers(2, "ends");
    if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
    Dims axes(starts->size()), steps(starts->size(), 1);
    std::iota(axes.begin(), axes.end(), 0);
    if (const auto given = integers(3, "axes")) axes = *given;
    if (const auto given = integers(4, "steps")) steps = *given;
    if (axes.size() != starts->size() || steps.size() != starts->size()) return std::nullopt;
    if (!mark_axes(axes, input(0).dims.size())) return std::nullopt;
    Dims dims = input(0).dims, strides = row_major_strides(dims);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(resolve_axis(axes[i], dims.size()));
      const std::int64_t size = dims[axis], step = steps[i];
      if (size == 0 || step == 0 || step == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
      const auto [from, count] = sliced_range(size, (*starts)[i], (*ends)[i], step);
      dims[axis] = count;
      offset += from * strides[axis];
      strides[axis] *= step;
    }
    if (!fits(dims, input(0).type)) return std::nullopt;
    if (*element_count(dims) == 0) return make_raw_tensor(input(0).type, dims, "");
    return strided_copy(input(0), dims, strides, offset);
  }

  /// Returns the second input's indices, counted from the front; nullopt if one is not below `size`.
  std::optional<Dims> indices_below(std::int64_t size) const {
    auto indices = has(1) ? input(1).integers() : std::nullopt;
    if (!indices) return std::nullopt;
    for (std::int64_t& index : *indices) {
      if (index < -size || index >= size) return std::nullopt;
      index += index < 0 ? size : 0;
    }
    return indices;
  }

  Evaluated gather() {
    Dims dims = input(0).dims;
    const std::int64_t axis = resolve_axis(int_attribute(node_, "axis", 0), dims.size());
    if (axis < 0) return std::nullopt;
    const auto along = static_cast<std::size_t>(axis);
    const auto indices = indices_below(dims[along]);
    if (!indices) return std::nullopt;
    dims[along] = static_cast<std::int64_t>(indices->size());
    if (!fits(dims, input(0).type)) return std::nullopt;
    return take(input(0), *indices, input(1).dims, along);
  }

  Evaluated gather_elements() {
    const Dims& dims = input(0).dims;
    const std::int64_t axis = resolve_axis(int_attribute(node_, "axis", 0), dims.size());
    if (axis < 0) return std::nullopt;
    const auto along = static_cast<std::size_t>(axis);
    const auto indices = indices_below(dims[along]);
    if (!indices || input(1).dims.size() != dims.size() || !fits(input(1).dims, input(0).type)) return std::nullopt;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (d != along && input(1).dims[d] > dims[d]) return std::nullopt;
    }
    return take_elements(input(0), *indices, input(1).dims, along);
  }

  Evaluated concat() {
    std::vector<RawTensor> all;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!has(i)) return std::nullopt;
      all.push_back(input(i));
      bytes += input(i).bytes.size();
    }
    const std::int64_t axis = resolve_axis(int_attribute(node_, "axis", 0), input(0).dims.size());
    if (axis < 0 || bytes > max_bytes_) return std::nullopt;
    return concatenate(all, static_cast<std::size_t>(axis));
  }

  std::optional<std::vector<RawTensor>> split() {
    if (!has(0)) return std::nullopt;
    const Dims& dims = input(0).dims;
    const std::int64_t axis = resolve_axis(int_attribute(node_, "axis", 0), dims.size());
    const auto outputs = static_cast<std::size_t>(node_.output_size());
    if (axis < 0 || outputs == 0 || input(0).bytes.size() > max_bytes_) return std::nullopt;
    const auto along = static_cast<std::size_t>(axis);
    auto sizes = integers(1, "split");
    if (!sizes) {
      const auto parts = static_cast<std::int64_t>(outputs);
      if (has(1) || dims[along] % parts != 0) return std::nullopt;
      sizes = Dims(outputs, dims[along] / parts);
    }
    if (sizes->size() != outputs || std::accumulate(sizes->begin(), sizes->end(), std::int64_t{0}) != dims[along] ||
        std::ranges::any_of(*sizes, [](std::int64_t size) { return size < 0; }))
      return std::nullopt;
    return split_along(input(0), *sizes, along);
  }

  Evaluated expand() {
    const auto requested = integers(1, "shape");
    const auto dims = requested ? broadcast_dims(input(0).dims, *requested) : std::nullopt;
    if (!dims || !fits(*dims, input(0).type)) return std::nullopt;
    return broadcast_to(input(0), *dims);
  }

  /// Tiles along dimensions of size 1 only, as exporters do to repeat.
  Evaluated tile() {
    const auto repeats = has(1) ? input(1).integers() : std::nullopt;
    if (!repeats || repeats->size() != input(0).dims.size()) return std::nullopt;
    Dims dims = input(0).dims;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if ((*repeats)[d] < 0 || (dims[d] != 1 && (*repeats)[d] != 1)) return std::nullopt;
      dims[d] = dims[d] == 1 ? (*repeats)[d] : dims[d];
    }
    return fits(dims, input(0).type) ? std::optional(broadcast_to(input(0), dims)) : std::nullopt;
  }

  Evaluated constant_of_shape() {
    const auto dims = input(0).integers();
    const onnx::AttributeProto* value = find_attribute(node_, "value");
    const float zero = 0;
    const Evaluated element =
        value == nullptr ? make_raw_tensor(onnx::TensorProto::FLOAT, {},
                                           std::string(reinterpret_cast<const char*>(&zero), sizeof zero))
                         : to_raw_tensor(value->t(), value->t().has_raw_data()
                                                         ? std::optional<std::string_view>(value->t().raw_data())
                                                         : std::nullopt);
    if (!dims || !element || element->count() != 1 || !fits(*dims, element->type)) return std::nullopt;
    return broadcast_to(RawTensor{element->type, {}, element->bytes, element->owner}, *dims);
  }

  Evaluated shape() {
    const Dims& dims = input(0).dims;
    const auto rank = static_cast<std::int64_t>(dims.size());
    const auto position = [&](const char* name, std::int64_t default_value) {
      const std::int64_t at = int_attribute(node_, name, default_value);
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t start = position("start", 0), end = std::max(start, position("end", rank));
    return make_integer_tensor({end - start}, Dims(dims.begin() + start, dims.begin() + end));
  }

  Evaluated size() { return make_integer_tensor({}, {input(0).count()}); }

  Evaluated range() {
    if (!has(1) || !has(2) || input(0).type != onnx::TensorProto::INT64) return std::nullopt;
    const auto start = input(0).integers(), end = input(1).integers(), step = input(2).integers();
    if (!start || !end || !step || start->size() != 1 || end->size() != 1 || step->size() != 1) return std::nullopt;
    const std::int64_t first = start->at(0), delta = step->at(0);
    constexpr std::int64_t limit = std::int64_t{1} << 40;
    const auto is_small = [](std::int64_t number) { return number > -limit && number < limit; };
    if (delta == 0 || !is_small(first) || !is_small(end->at(0)) || !is_small(delta)) return std::nullopt;
    const std::int64_t distance = end->at(0) - first;
    const std::int64_t count =
        distance == 0 || (distance < 0) != (delta < 0) ? 0 : (distance - (delta < 0 ? -1 : 1)) / delta + 1;
    if (!fits({count}, onnx::TensorProto::INT64)) return std::nullopt;
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(first + i * delta);
    return make_integer_tensor({count}, values);
  }

  Evaluated nonzero() {
    const RawTensor& data = input(0);
    const bool is_integral = data.type == onnx::TensorProto::INT64 || data.type == onnx::TensorProto::INT32 ||
                             data.type == onnx::TensorProto::BOOL;
    const auto rank = static_cast<std::int64_t>(data.dims.size());
    if (!is_integral || rank == 0 || !fits({data.count(), rank}, onnx::TensorProto::INT64)) return std::nullopt;
    return nonzero_indices(data);
  }

  /// Returns the inputs, broadcast to their common shape; nullopt if that is impossible or too large.
  std::optional<std::vector<RawTensor>> broadcast_inputs() const {
    Dims dims;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto common = has(i) ? broadcast_dims(dims, input(i).dims) : std::nullopt;
      if (!common) return std::nullopt;
      dims = *common;
    }
    std::vector<RawTensor> result;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!fits(dims, input(i).type)) return std::nullopt;
      result.push_back(broadcast_to(input(i), dims));
    }
    return result;
  }

  Evaluated where() {
    const auto operands = broadcast_inputs();
    if (!operands || operands->size() != 3) return std::nullopt;
    const RawTensor &condition = (*operands)[0], &yes = (*operands)[1], &no = (*operands)[2];
    if (condition.type != onnx::TensorProto::BOOL || yes.type != no.type) return std::nullopt;
    std::string bytes;
    const std::size_t width = yes.width();
    for (std::size_t i = 0; i < static_cast<std::size_t>(condition.count()); ++i)
      bytes.append((condition.bytes[i] != 0 ? yes : no).bytes.substr(i * width, width));
    return make_raw_tensor(yes.type, yes.dims, std::move(bytes));
  }

  Evaluated cast() {
    const int type = static_cast<int>(int_attribute(node_, "to", 0));
    if (type == input(0).type) return identity();
    return fits(input(0).dims, type) ? convert_elements(input(0), type) : std::nullopt;
  }

  /// Reduces a list of integers to one number.
  Evaluated reduce() {
    const auto values = input(0).integers();
    const auto axes = integers(1, "axes");
    const Dims& dims = input(0).dims;
    if (!values || dims.size() != 1 || values->empty() || (axes ? axes->size() != 1 : has(1))) return std::nullopt;
    static const std::map<std::string, SizeOperator> operators = {{"ReduceProd", SizeOperator::Mul},
                                                                  {"ReduceMax", SizeOperator::Max},
                                                                  {"ReduceMin", SizeOperator::Min},
                                                                  {"ReduceSum", SizeOperator::Add}};
    const std::size_t width = input(0).width();
    const auto element = [&](std::size_t i) {
      return RawTensor{input(0).type, {}, input(0).bytes.substr(i * width, width), input(0).owner};
    };
    Evaluated result = element(0);
    for (std::size_t i = 1; result && i < values->size(); ++i)
      result = combine_elements(operators.at(node_.op_type()), *result, element(i));
    if (result && int_attribute(node_, "keepdims", 1) != 0) result->dims = {1};
    return result;
  }

  /// The first input, not below the second one and not above the third one, each of which may be absent.
  Evaluated clip() {
    if (inputs_.size() < 2) return std::nullopt;  // before opset 11 the bounds are attributes
    Evaluated result = input(0);
    for (const auto& [bound, op] : {std::pair(1, SizeOperator::Max), std::pair(2, SizeOperator::Min)}) {
      const auto i = static_cast<std::size_t>(bound);
      if (!result || !has(i)) continue;
      if (input(i).count() != 1) return std::nullopt;
      RawTensor number = input(i);
      number.dims.clear();  // runtimes accept [1], too
      result = combine_elements(op, *result, broadcast_to(number, result->dims));
    }
    return result;
  }

  Evaluated elementwise() {
    static const std::map<std::string, UnaryOperator> unary = {
        {"Neg", UnaryOperator::Neg},     {"Abs", UnaryOperator::Abs},   {"Sqrt", UnaryOperator::Sqrt},
        {"Floor", UnaryOperator::Floor}, {"Ceil", UnaryOperator::Ceil}, {"Not", UnaryOperator::Not}};
    if (const auto op = unary.find(node_.op_type()); op != unary.end())
      return fits(input(0).dims, input(0).type) ? map_elements(op->second, input(0)) : std::nullopt;
    const auto op = size_operator(node_.op_type());
    if (!op || !is_elementwise(*op) || inputs_.size() != 2 || int_attribute(node_, "fmod", 0) != 0) return std::nullopt;
    const auto operands = broadcast_inputs();
    return operands ? combine_elements(*op, (*operands)[0], (*operands)[1]) : std::nullopt;
  }

  const onnx::NodeProto& node_;
  const std::vector<std::optional<RawTensor>>& inputs_;
  std::size_t max_bytes_;
};

}  // namespace

std::optional<std::vector<RawTensor>> evaluate_constant_node(const onnx::NodeProto& node, int opset,
                                                             const std::vector<std::optional<RawTensor>>& inputs,
                                                             std::size_t max_bytes) {
  if (!is_standard(node) || opset < first_clean_opset) return std::nullopt;
  return ConstantEvaluator(node, inputs, max_bytes).run();
}

}  // namespace rulemill::optimize
