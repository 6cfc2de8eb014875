#include "optimize/onnx/shapes/opaque_shapes.h"

#include <algorithm>
#include <map>
#include <string>

#include "optimize/onnx/shapes/size_operators.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {

namespace {

using algebra::Poly;
using algebra::Shape;
using InferredShape = std::optional<OpaqueShape>;

class ShapeInference {
 public:
  ShapeInference(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                 std::span<const DynamicDim> dynamic_dims, algebra::Symbols& symbols)
      : node_(node),
        op_(size_operator(node.op_type())),
        inputs_(inputs),
        dynamic_dims_(dynamic_dims),
        symbols_(symbols) {}

  InferredShape run() {
    using Method = InferredShape (ShapeInference::*)();
    static const std::map<SizeOperator, Method> methods = {
        {SizeOperator::Expand, &ShapeInference::expand},
        {SizeOperator::Slice, &ShapeInference::slice},
        {SizeOperator::Gather, &ShapeInference::gather},
        {SizeOperator::Reshape, &ShapeInference::reshape},
        {SizeOperator::Concat, &ShapeInference::concat},
        {SizeOperator::Range, &ShapeInference::range},
        {SizeOperator::ConstantOfShape, &ShapeInference::constant_of_shape},
        {SizeOperator::GatherElements, &ShapeInference::gather_elements}};
    const bool is_einsum = node_.op_type() == "Einsum";
    if (node_.output_size() != 1 || (!op_ && !is_einsum)) return std::nullopt;
    const auto method = op_ ? methods.find(*op_) : methods.end();
    InferredShape result = is_einsum ? einsum() : method == methods.end() ? elementwise() : (this->*method->second)();
    if (result) result->required_bound = required_bound_;
    if (!result || !std::ranges::all_of(result->dims, [&](const Poly& dim) { return symbols_.is_positive(dim); }))
      return std::nullopt;
    return result;
  }

 private:
  const Shape* shape(std::size_t input) const { return input < inputs_.size() ? inputs_[input].shape : nullptr; }

  const std::vector<Poly>* numbers(std::size_t input) const {
    return input < inputs_.size() && inputs_[input].value != nullptr ? &inputs_[input].value->elements : nullptr;
  }

  std::optional<std::size_t> axis_of(std::int64_t requested, std::size_t rank) const {
    const std::int64_t axis = requested < 0 ? requested + static_cast<std::int64_t>(rank) : requested;
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
    return static_cast<std::size_t>(axis);
  }

  const onnx::AttributeProto* attribute(const std::string& name) const {
    const auto found = std::ranges::find(node_.attribute(), name, &onnx::AttributeProto::name);
    return found == node_.attribute().end() ? nullptr : &*found;
  }

  std::int64_t number(const std::string& name, std::int64_t default_value) const {
    const auto* requested = attribute(name);
    return requested == nullptr ? default_value : requested->i();
  }

  /// If one of two sizes is 1, the result is the other; else the model only runs if they are equal or one of them is 1.
  Shape broadcast(const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()), Poly(1));
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::size_t d = result.size() - 1 - i;
      if (i < a.size()) result[d] = a[a.size() - 1 - i];
      if (i >= b.size()) continue;
      record_required_bound(result[d], b[b.size() - 1 - i]);
      record_required_bound(b[b.size() - 1 - i], result[d]);
      result[d] = symbols_.max(result[d], b[b.size() - 1 - i]);
    }
    return result;
  }

  /// min(c, size) with c > 1 is 1 only if size is 1, so that both are equal.
  void record_required_bound(const Poly& bounded, const Poly& size) {
    const auto atom = bounded.atom();
    if (!atom || symbols_.kind(*atom) != algebra::Symbols::Kind::Min) return;
    const Poly &a = symbols_.left(*atom), &b = symbols_.right(*atom);
    const auto number = a == size ? b.constant() : b == size ? a.constant() : std::nullopt;
    if (number && *number > 1) required_bound_.emplace(size, *number);
  }

  InferredShape expand() {
    if (shape(0) == nullptr || numbers(1) == nullptr) return std::nullopt;
    return OpaqueShape{broadcast(*shape(0), *numbers(1))};
  }

  InferredShape elementwise() {
    const bool is_where = op_ == SizeOperator::Where;
    if (!is_where && !is_elementwise(*op_)) return std::nullopt;
    OpaqueShape result;
    if (returns_bool(*op_)) result.onnx_type = onnx::TensorProto::BOOL;
    if (is_where) result.type_input = 1;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (shape(i) == nullptr) return std::nullopt;
      result.dims = broadcast(result.dims, *shape(i));
    }
    return result;
  }

  /// Resolves a position: negative ones count from the end; the result is at most `size`.
  std::optional<Poly> position(const Poly& requested, const Poly& size) {
    if (const auto constant = requested.constant(); constant && *constant < 0) return symbols_.max(size + requested, 0);
    if (!symbols_.is_nonnegative(requested)) return std::nullopt;
    for (const DynamicDim& dynamic_dim : dynamic_dims_) {
      if (dynamic_dim.upper_bound && requested == Poly(dynamic_dim.atom) + dynamic_dim.offset &&
          symbols_.is_nonnegative(size - *dynamic_dim.upper_bound))
        return requested;
    }
    return symbols_.min(requested, size);
  }

  InferredShape slice() {
    const auto *starts = numbers(1), *ends = numbers(2), *axes = numbers(3), *steps = numbers(4);
    if (shape(0) == nullptr || starts == nullptr || ends == nullptr || starts->size() != ends->size())
      return std::nullopt;
    if ((inputs_.size() > 3 && axes == nullptr) || (inputs_.size() > 4 && steps == nullptr)) return std::nullopt;
    OpaqueShape result{*shape(0)};
    for (std::size_t i = 0; i < starts->size(); ++i) {
      const auto requested = axes == nullptr ? static_cast<std::int64_t>(i) : axes->at(i).constant();
      const auto axis = requested ? axis_of(*requested, result.dims.size()) : std::nullopt;
      const auto step = steps == nullptr ? 1 : steps->at(i).constant();
      if (!axis || !step || *step < 1) return std::nullopt;
      const auto from = position((*starts)[i], result.dims[*axis]), to = position((*ends)[i], result.dims[*axis]);
      if (!from || !to) return std::nullopt;
      result.dims[*axis] = symbols_.floor_div(*to - *from + (*step - 1), *step);
    }
    return result;
  }

  InferredShape gather() {
    if (shape(0) == nullptr || shape(1) == nullptr) return std::nullopt;
    const auto axis = axis_of(number("axis", 0), shape(0)->size());
    if (!axis) return std::nullopt;
    const auto at = shape(0)->begin() + static_cast<std::ptrdiff_t>(*axis);
    OpaqueShape result{{shape(0)->begin(), at}};
    result.dims.insert(result.dims.end(), shape(1)->begin(), shape(1)->end());
    result.dims.insert(result.dims.end(), at + 1, shape(0)->end());
    return result;
  }

  InferredShape gather_elements() { return shape(1) == nullptr ? std::nullopt : InferredShape(OpaqueShape{*shape(1)}); }

  /// The dimension -1 follows from the number of elements.
  InferredShape reshape() {
    if (shape(0) == nullptr || numbers(1) == nullptr || number("allowzero", 0) != 0) return std::nullopt;
    OpaqueShape result{*numbers(1)};
    Poly all(1), known(1);
    for (const Poly& dim : *shape(0)) all = all * dim;
    std::optional<std::size_t> inferred_dim;
    for (std::size_t i = 0; i < result.dims.size(); ++i) {
      if (result.dims[i] == Poly(0) && i < shape(0)->size()) result.dims[i] = (*shape(0))[i];
      if (result.dims[i] == Poly(-1)) {
        inferred_dim = i;
      } else {
        known = known * result.dims[i];
      }
    }
    if (inferred_dim && !symbols_.is_positive(known)) return std::nullopt;
    if (inferred_dim) result.dims[*inferred_dim] = symbols_.floor_div(all, known);
    return result;
  }

  InferredShape concat() {
    if (shape(0) == nullptr) return std::nullopt;
    OpaqueShape result{*shape(0)};
    const auto axis = axis_of(number("axis", 0), result.dims.size());
    for (std::size_t i = 1; i < inputs_.size(); ++i) {
      if (!axis || shape(i) == nullptr || shape(i)->size() != result.dims.size()) return std::nullopt;
      result.dims[*axis] += (*shape(i))[*axis];
    }
    return result;
  }

  /// An equation with a result and without an ellipsis. A letter that occurs twice stands for the larger dimension,
  /// because dimensions of one element are repeated.
  InferredShape einsum() {
    const auto* equation = attribute("equation");
    std::string letters = equation == nullptr ? "" : equation->s();
    std::erase(letters, ' ');
    const std::size_t arrow = letters.find("->");
    if (arrow == std::string::npos || letters.find('.') != std::string::npos) return std::nullopt;
    std::map<char, Poly> dims;
    std::size_t input = 0, axis = 0;
    for (const char letter : letters.substr(0, arrow)) {
      if (letter == ',') {
        ++input;
        axis = 0;
        continue;
      }
      if (shape(input) == nullptr || axis >= shape(input)->size()) return std::nullopt;
      const Poly& dim = shape(input)->at(axis++);
      const auto [entry, added] = dims.emplace(letter, dim);
      if (!added) entry->second = symbols_.max(entry->second, dim);
    }
    OpaqueShape result;
    for (const char letter : letters.substr(arrow + 2)) {
      if (!dims.contains(letter)) return std::nullopt;
      result.dims.push_back(dims.at(letter));
    }
    return result;
  }

  InferredShape range() {
    for (const std::size_t i : {0U, 1U, 2U}) {
      if (numbers(i) == nullptr || numbers(i)->size() != 1) return std::nullopt;
    }
    if (numbers(2)->at(0) != Poly(1)) return std::nullopt;
    return OpaqueShape{{numbers(1)->at(0) - numbers(0)->at(0)}};
  }

  InferredShape constant_of_shape() {
    if (numbers(0) == nullptr) return std::nullopt;
    const auto* value = attribute("value");
    OpaqueShape result{*numbers(0)};
    result.onnx_type = value == nullptr ? int{onnx::TensorProto::FLOAT} : value->t().data_type();
    return result;
  }

  const onnx::NodeProto& node_;
  std::optional<SizeOperator> op_;
  const std::vector<ShapeOperand>& inputs_;
  std::span<const DynamicDim> dynamic_dims_;
  algebra::Symbols& symbols_;
  std::optional<std::pair<Poly, std::int64_t>> required_bound_;
};

}  // namespace

std::optional<OpaqueShape> infer_opaque_shape(const onnx::NodeProto& node, const std::vector<ShapeOperand>& inputs,
                                              std::span<const DynamicDim> dynamic_dims, algebra::Symbols& symbols) {
  try {
    return ShapeInference(node, inputs, dynamic_dims, symbols).run();
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error&) {
    return std::nullopt;  // overflow or division by zero
  }
}

}  // namespace rulemill::optimize
