// The operators that compute elements whose bits are the same in every implementation.
#include <algorithm>
#include <map>

#include "algebra/sizes/checked.h"
#include "optimize/onnx/operators/arguments.h"
#include "optimize/onnx/operators/element_function.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize::operators {
namespace {

using algebra::Poly;
using Proto = onnx::TensorProto;
using Known = std::optional<KnownTensor>;

/// Returns the inputs from `first` on, repeated to the dimensions, all with numbers or all with sizes; an empty list if
/// an element is unknown or there are too many.
std::vector<KnownTensor> operands_of(const Arguments& arguments, const std::optional<Dimensions>& dims, int first = 0) {
  std::vector<KnownTensor> operands;
  for (int i = first; dims && i < arguments.node.input_size(); ++i) {
    const KnownTensor& input = arguments.input(i);
    if (!input.has_elements()) return {};
    operands.push_back(move_elements(input, repeat_elements(*input.dims, *dims), arguments.context));
    if (!operands.back().has_elements()) return {};
  }
  return unify_elements(operands) ? operands : std::vector<KnownTensor>();
}

/// Applies the function to tensors of one shape; the elements are unknown if they have no certain result.
KnownTensor combine(const Arguments& arguments, const ElementFunction& function, const KnownTensor& a,
                    const KnownTensor& b) {
  KnownTensor result{function.returns_bool ? int{Proto::BOOL} : a.type, a.dims};
  if (a.numbers && b.numbers) result.numbers = apply(function, *a.numbers, *b.numbers);
  if (!a.sizes || !b.sizes || function.sizes == nullptr || a.type != b.type) return result;
  std::vector<Poly> elements;
  for (std::size_t i = 0; i < a.sizes->size(); ++i) {
    auto element = function.sizes(arguments.symbols(), (*a.sizes)[i], (*b.sizes)[i]);
    if (!element) return result;
    elements.push_back(std::move(*element));
  }
  return make_known(result.type, *to_numbers(a.dims), elements, arguments.context);
}

/// Combines all tensors from the first to the last.
KnownTensor combine_all(const Arguments& arguments, const ElementFunction& function,
                        const std::vector<KnownTensor>& operands) {
  KnownTensor result = operands.at(0);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::vector<KnownTensor> both = {result, operands[i]};
    result =
        unify_elements(both) ? combine(arguments, function, both[0], both[1]) : KnownTensor{result.type, result.dims};
  }
  return result;
}

/// The functions by which reductions combine two integers.
const std::map<std::string, const char*> reductions = {
    {"ReduceProd", "Mul"}, {"ReduceMax", "Max"}, {"ReduceMin", "Min"}, {"ReduceSum", "Add"}};

/// Runtimes add and multiply integers in float64: the result is exact if no absolute value exceeds 2^53.
bool is_exact_reduction(const std::string& op, const std::vector<Poly>& elements) {
  constexpr std::int64_t max_exact = std::int64_t{1} << 53;
  std::int64_t bound = 1;  // of all partial results
  for (const Poly& element : elements) {
    const std::int64_t value = std::abs(element.constant().value_or(0));  // sizes are small
    if (op == "ReduceSum") bound = algebra::checked_add(bound, value);
    if (op == "ReduceProd") bound = algebra::checked_multiply(bound, std::max<std::int64_t>(value, 1));
  }
  return bound <= max_exact;
}

/// Reduces all integers to one.
KnownTensor reduce_all(const Arguments& arguments, const ElementFunction& function, const Dimensions& dims) {
  const int type = arguments.input(0).type;
  const auto elements = to_sizes(arguments.input(0));
  if (!elements || elements->empty() || type == Proto::BOOL || !is_exact_reduction(arguments.node.op_type(), *elements))
    return {type, dims};
  std::vector<KnownTensor> operands;
  for (const Poly& each : *elements) operands.push_back(make_known(type, *to_numbers(dims), {each}, arguments.context));
  return combine_all(arguments, function, operands);
}

}  // namespace

Known concat(const Arguments& arguments) {
  const bool has_axis = find_attribute(arguments.node, "axis") != nullptr;
  const auto axis = has_axis ? arguments.axis(0) : std::nullopt;
  Known result = KnownTensor{arguments.input(0).type};
  if (!axis) return result;
  Dimensions dims = *arguments.dims();
  std::vector<KnownTensor> inputs = {arguments.input(0)};
  for (int i = 1; i < arguments.node.input_size(); ++i) {
    inputs.push_back(arguments.input(i));
    if (!inputs.back().dims || inputs.back().dims->size() != dims.size()) return result;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const Dimension& other = (*inputs.back().dims)[d];
      if (d == *axis)
        dims[d] = dims[d] && other ? Dimension(*dims[d] + *other) : std::nullopt;
      else if (dims[d] != other)
        dims[d] = std::nullopt;  // runtimes accept empty tensors of other dimensions
    }
  }
  result->dims = dims;
  const auto numbers = to_numbers(dims);
  const auto has_other_type = [&](const KnownTensor& each) { return each.type != result->type; };
  if (!numbers || !is_small(*numbers, result->type, arguments.context.max_bytes) ||
      std::ranges::any_of(inputs, has_other_type) || !unify_elements(inputs))
    return result;
  const auto along = static_cast<std::ptrdiff_t>(*axis);
  const std::int64_t blocks = algebra::element_count({numbers->begin(), numbers->begin() + along});
  ElementWriter writer;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const KnownTensor& input : inputs) {
      const Dims own = *to_numbers(input.dims);
      const std::int64_t length = algebra::element_count({own.begin() + along, own.end()});
      writer.append(input, block * length, length);
    }
  }
  return std::move(writer).finish(result->type, *numbers, arguments.context);
}

Known gather_elements(const Arguments& arguments) {
  const KnownTensor& data = arguments.input(0);
  Known result = KnownTensor{data.type, arguments.dims(1)};
  const auto axis = arguments.axis(0);
  const auto dims = to_numbers(data.dims), shape = to_numbers(arguments.dims(1));
  const auto indices = arguments.input(1).numbers ? arguments.input(1).numbers->integers() : std::nullopt;
  if (!axis || !dims || !shape || !indices || !data.has_elements() || shape->size() != dims->size() ||
      !is_small(*shape, data.type, arguments.context.max_bytes))
    return result;
  const Dims strides = row_major_strides(*dims), index_strides = row_major_strides(*shape);
  ElementWriter writer;
  for (std::size_t i = 0; i < indices->size(); ++i) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < dims->size(); ++d) {
      const std::int64_t size = (*dims)[d], place = static_cast<std::int64_t>(i) / index_strides[d] % (*shape)[d];
      const std::int64_t index = d == *axis ? (*indices)[i] : place;
      if (index < -size || index >= size) return result;
      from += (index < 0 ? index + size : index) * strides[d];
    }
    writer.append(data, from);
  }
  return std::move(writer).finish(data.type, *shape, arguments.context);
}

Known where(const Arguments& arguments) {
  const auto dims = arguments.broadcast_inputs();
  Known result = KnownTensor{arguments.input(1).type, dims};
  const KnownTensor& condition = arguments.input(0);
  const std::vector<KnownTensor> both = operands_of(arguments, dims, 1);
  if (both.size() != 2 || both[0].type != both[1].type || condition.type != Proto::BOOL || !condition.numbers)
    return result;
  const KnownTensor choices = move_elements(condition, repeat_elements(*condition.dims, *dims), arguments.context);
  if (!choices.numbers) return result;
  ElementWriter writer;
  for (std::int64_t i = 0; i < choices.numbers->count(); ++i)
    writer.append(both[choices.numbers->bytes[static_cast<std::size_t>(i)] != 0 ? 0 : 1], i);
  return std::move(writer).finish(result->type, *to_numbers(dims), arguments.context);
}

Known cast(const Arguments& arguments) {
  const KnownTensor& input = arguments.input(0);
  const int type = arguments.cast_type();
  Known result = KnownTensor{type, input.dims};
  if (input.numbers && is_small(input.numbers->dims, type, arguments.context.max_bytes))
    result->numbers = convert_elements(*input.numbers, type);
  if (!input.sizes) return result;
  std::vector<Poly> elements = *input.sizes;
  for (Poly& element : elements) {
    const bool is_true = element.constant().value_or(0) != 0 || arguments.symbols().is_positive(element);
    if (type == Proto::BOOL && is_true) element = Poly(1);
  }
  return make_known(type, *to_numbers(input.dims), elements, arguments.context);
}

/// The first input, not below the second one and not above the third one, each of which may be absent. onnxruntime
/// limits an infinity all the same.
Known clip(const Arguments& arguments) {
  Known result = arguments.input(0);
  const bool has_both = arguments.has(1) && arguments.has(2);
  if (!has_both && result->numbers && !is_finite(*result->numbers)) return KnownTensor{result->type, result->dims};
  for (const auto& [bound, op] : {std::pair(1, "Max"), std::pair(2, "Min")}) {
    if (!arguments.has(bound) || !result->has_elements()) continue;
    const auto& number = arguments.input(bound).numbers;
    if (!number || number->count() != 1) return KnownTensor{result->type, result->dims};
    const KnownTensor single = make_known(RawTensor{number->type, {}, number->bytes, number->owner});  // [1], too
    const KnownTensor limit = move_elements(single, repeat_elements({}, *result->dims), arguments.context);
    result = combine_all(arguments, *element_function(op), {*result, limit});
  }
  return result;
}

Known reduce(const Arguments& arguments) {
  Known result = KnownTensor{arguments.input(0).type};
  if (!arguments.dims()) return result;
  const std::int64_t is_noop = arguments.integer("noop_with_empty_axes", 0);
  if (is_noop != 0 && is_noop != 1) return result;  // as 0 in onnxruntime, as 1 in ONNX's reference
  if (empty_reduction(arguments, 0)) return KnownTensor{result->type, arguments.dims()};
  const bool keeps = arguments.integer("keepdims", 1) == 1;
  const std::size_t rank = arguments.dims()->size();
  const auto axes = arguments.list(1, "axes");
  const auto positions = axes.numbers();
  const bool reduces_all = !axes.is_given || (positions && positions->empty());
  const auto reduced = reduces_all ? std::vector<bool>(rank, true)
                       : positions ? mark_axes(*positions, rank)
                                   : std::nullopt;
  if (!reduced) {
    if (keeps) result->dims = Dimensions(rank);
    return result;
  }
  Dimensions dims;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!(*reduced)[d]) dims.push_back((*arguments.dims())[d]);
    if ((*reduced)[d] && keeps) dims.emplace_back(Poly(1));
  }
  const auto function = reductions.find(arguments.node.op_type());
  if (function != reductions.end() && std::ranges::count(*reduced, false) == 0)
    return reduce_all(arguments, *element_function(function->second), dims);
  result->dims = std::move(dims);
  return result;
}

Known elementwise(const Arguments& arguments) {
  const ElementFunction* function = element_function(arguments.node.op_type());
  const bool returns_bool = function != nullptr && function->returns_bool;
  const auto dims = arguments.broadcast_inputs();
  const auto operands = function == nullptr ? std::vector<KnownTensor>() : operands_of(arguments, dims);
  if (operands.size() < 2 || arguments.integer("fmod", 0) != 0)
    return KnownTensor{returns_bool ? int{Proto::BOOL} : arguments.input(0).type, dims};
  return combine_all(arguments, *function, operands);
}

Known unary(const Arguments& arguments) {
  const KnownTensor& input = arguments.input(0);
  const ElementFunction* function = element_function(arguments.node.op_type());
  const bool is_computed = function != nullptr && input.has_elements() &&
                           is_small(*to_numbers(input.dims), input.type, arguments.context.max_bytes);
  return is_computed ? combine(arguments, *function, input, input) : KnownTensor{input.type, input.dims};
}

}  // namespace rulemill::optimize::operators
