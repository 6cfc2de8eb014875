// Softmax along one axis, as three tensors: the largest, powers, and their shares.
#include <algorithm>

#include "optimize/gpu/match.h"

namespace rulemill::optimize::gpu {

using algebra::Function;
using algebra::Poly;
using Kind = Element::Kind;

namespace {

bool is_exp(const Function& function) {
  const std::array<Function::Node, 2> program{{{Function::Op::Argument}, {Function::Op::Exp}}};
  return is_program(function, program);
}

bool is_inverse(const Function& function) {
  const std::array<Function::Node, 3> program{
      {{Function::Op::Number, 1}, {Function::Op::Argument}, {Function::Op::Div}}};
  return is_program(function, program);
}

bool reads_own(const Element& read, const Body& body) {
  if (read.kind != Kind::Read || read.indices.size() != body.dims.size()) return false;
  for (std::size_t d = 0; d < body.dims.size(); ++d) {
    if (read.indices[d] != index_of(body, d)) return false;
  }
  return true;
}

/// The only dimension in which a reduction over one index reads elsewhere than at `own`: all along it.
std::optional<std::size_t> axis_of(const Element& reduction, const Element& read, std::span<const Poly> own,
                                   std::span<const std::int64_t> dims, const Extents& extents) {
  if (reduction.bound.size() != 1 || read.kind != Kind::Read || read.indices.size() != dims.size()) return std::nullopt;
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (read.indices[d] == own[d]) continue;
    if (axis || read.indices[d] != Poly(reduction.bound[0]) || extents.at(reduction.bound[0]) != dims[d])
      return std::nullopt;
    axis = d;
  }
  return axis;
}

std::vector<Poly> own_indices(const Body& body) {
  std::vector<Poly> own;
  for (std::size_t d = 0; d < body.dims.size(); ++d) own.push_back(index_of(body, d));
  return own;
}

/// a − b, however it is written.
bool is_difference(const Element& element, const Element*& a, const Element*& b) {
  if (element.kind != Kind::Add || element.operands.size() != 2) return false;
  for (const std::size_t side : {0, 1}) {
    const Element& product = *element.operands[side];
    if (product.kind != Kind::Mul || product.operands.size() != 2) continue;
    for (const std::size_t factor : {0, 1}) {
      const Element& minus = *product.operands[factor];
      if (minus.kind != Kind::Constant || minus.value != -1) continue;
      a = element.operands[1 - side].get();
      b = product.operands[1 - factor].get();
      return true;
    }
  }
  return false;
}

/// The input of exp(x − largest of x along the axis).
std::optional<std::uint32_t> input_of_powers(const Body& powers, std::size_t axis, const Context& context) {
  const Element& power = *powers.element;
  if (power.kind != Kind::Apply || !is_exp(context.functions[power.function])) return std::nullopt;
  const Element *x = nullptr, *top = nullptr;
  if (!is_difference(*power.operands[0], x, top) || !reads_own(*x, powers) || top->kind != Kind::Read)
    return std::nullopt;
  const Body* largest = context.body_of(top->tensor);
  if (largest == nullptr || context.dims[x->tensor] != powers.dims) return std::nullopt;
  const Element& element = *largest->element;
  if (element.kind != Kind::Max || !element.guard.empty()) return std::nullopt;
  // What it reads, in the indices of the powers.
  algebra::Substitution indices;
  for (std::size_t d = 0; d < largest->dims.size(); ++d) indices[largest->indices[d]] = top->indices[d];
  const ElementPtr read = replaced(element.operands[0], indices, {}, context.symbols);
  if (read->kind != Kind::Read || read->tensor != x->tensor) return std::nullopt;
  if (axis_of(element, *read, own_indices(powers), powers.dims, largest->extents) != axis) return std::nullopt;
  return x->tensor;
}

}  // namespace

std::optional<Softmax> softmax_of(const Body& body, const Context& context) {
  const Element& product = *body.element;
  if (product.kind != Kind::Mul || product.operands.size() != 2) return std::nullopt;
  for (const std::size_t side : {0, 1}) {
    const Element &power = *product.operands[side], &share = *product.operands[1 - side];
    if (!reads_own(power, body) || share.kind != Kind::Apply || !is_inverse(context.functions[share.function]))
      continue;
    const Element& sum = *share.operands[0];
    if (sum.kind != Kind::Sum || !sum.guard.empty() || sum.operands[0]->kind != Kind::Read ||
        sum.operands[0]->tensor != power.tensor)
      continue;
    const auto axis = axis_of(sum, *sum.operands[0], own_indices(body), body.dims, body.extents);
    const Body* powers = context.body_of(power.tensor);
    if (!axis || powers == nullptr || powers->dims != body.dims) continue;
    const auto input = input_of_powers(*powers, *axis, context);
    if (!input) continue;
    Softmax made{*input, 1, body.dims[*axis], 1};
    for (std::size_t d = 0; d < body.dims.size(); ++d) {
      if (d != *axis) (d < *axis ? made.outer : made.inner) *= body.dims[d];
    }
    return made;
  }
  return std::nullopt;
}

}  // namespace rulemill::optimize::gpu
