// Softmax along one axis, as three tensors: the maximum, the exponentials and the quotients.

#include "optimize/gpu/library/match.h"

namespace rulemill::optimize::gpu {

using algebra::Function;
using algebra::Poly;
using Kind = ElementExpr::Kind;

namespace {

bool is_exp(const Function& function) {
  const std::array<Function::Instruction, 2> program{{{Function::Op::Argument}, {Function::Op::Exp}}};
  return is_program(function, program);
}

bool is_reciprocal(const Function& function) {
  const std::array<Function::Instruction, 3> program{
      {{Function::Op::Number, 1}, {Function::Op::Argument}, {Function::Op::Div}}};
  return is_program(function, program);
}

bool reads_own_element(const ElementExpr& read, const TensorExpr& expr) {
  if (read.kind != Kind::Read || read.indices.size() != expr.dims.size()) return false;
  for (std::size_t d = 0; d < expr.dims.size(); ++d) {
    if (read.indices[d] != index_of(expr, d)) return false;
  }
  return true;
}

/// Returns the dimension that a reduction over one index reads entirely, if it reads the element's own index in all
/// others.
std::optional<std::size_t> reduction_axis(const ElementExpr& reduction, const ElementExpr& read,
                                          std::span<const Poly> indices_of_output, std::span<const std::int64_t> dims,
                                          const Extents& extents) {
  if (reduction.bound.size() != 1 || read.kind != Kind::Read || read.indices.size() != dims.size()) return std::nullopt;
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (read.indices[d] == indices_of_output[d]) continue;
    if (axis || read.indices[d] != Poly(reduction.bound[0]) || extents.at(reduction.bound[0]) != dims[d])
      return std::nullopt;
    axis = d;
  }
  return axis;
}

std::vector<Poly> output_indices(const TensorExpr& expr) {
  std::vector<Poly> indices_of_output;
  for (std::size_t d = 0; d < expr.dims.size(); ++d) indices_of_output.push_back(index_of(expr, d));
  return indices_of_output;
}

/// Matches a − b, written as a sum with a factor of −1.
bool match_difference(const ElementExpr& element, const ElementExpr*& a, const ElementExpr*& b) {
  if (element.kind != Kind::Add || element.operands.size() != 2) return false;
  for (const std::size_t side : {0, 1}) {
    const ElementExpr& product = *element.operands[side];
    if (product.kind != Kind::Mul || product.operands.size() != 2) continue;
    for (const std::size_t factor : {0, 1}) {
      const ElementExpr& minus = *product.operands[factor];
      if (minus.kind != Kind::Constant || minus.value != -1) continue;
      a = element.operands[1 - side].get();
      b = product.operands[1 - factor].get();
      return true;
    }
  }
  return false;
}

/// Returns x if the tensor is exp(x − max of x along the axis).
std::optional<std::uint32_t> match_exp_input(const TensorExpr& exponentials, std::size_t axis,
                                             const MatchContext& context) {
  const ElementExpr& exponential = *exponentials.element;
  if (exponential.kind != Kind::Apply || !is_exp(context.functions[exponential.function])) return std::nullopt;
  const ElementExpr *x = nullptr, *maximum_read = nullptr;
  if (!match_difference(*exponential.operands[0], x, maximum_read) || !reads_own_element(*x, exponentials) ||
      maximum_read->kind != Kind::Read)
    return std::nullopt;
  const TensorExpr* maximum = context.expr_of(maximum_read->tensor);
  if (maximum == nullptr || context.dims[x->tensor] != exponentials.dims) return std::nullopt;
  const ElementExpr& element = *maximum->element;
  if (element.kind != Kind::Max || !element.guard.empty()) return std::nullopt;
  // The read of the maximum, in the indices of the exponentials.
  algebra::Substitution indices;
  for (std::size_t d = 0; d < maximum->dims.size(); ++d) indices[maximum->indices[d]] = maximum_read->indices[d];
  const ElementExprPtr read = substitute(element.operands[0], indices, {}, context.symbols);
  if (read->kind != Kind::Read || read->tensor != x->tensor) return std::nullopt;
  if (reduction_axis(element, *read, output_indices(exponentials), exponentials.dims, maximum->extents) != axis)
    return std::nullopt;
  return x->tensor;
}

}  // namespace

std::optional<Softmax> match_softmax(const TensorExpr& expr, const MatchContext& context) {
  const ElementExpr& product = *expr.element;
  if (product.kind != Kind::Mul || product.operands.size() != 2) return std::nullopt;
  for (const std::size_t side : {0, 1}) {
    const ElementExpr &exponential = *product.operands[side], &share = *product.operands[1 - side];
    if (!reads_own_element(exponential, expr) || share.kind != Kind::Apply ||
        !is_reciprocal(context.functions[share.function]))
      continue;
    const ElementExpr& sum = *share.operands[0];
    if (sum.kind != Kind::Sum || !sum.guard.empty() || sum.operands[0]->kind != Kind::Read ||
        sum.operands[0]->tensor != exponential.tensor)
      continue;
    const auto axis = reduction_axis(sum, *sum.operands[0], output_indices(expr), expr.dims, expr.extents);
    const TensorExpr* exponentials = context.expr_of(exponential.tensor);
    if (!axis || exponentials == nullptr || exponentials->dims != expr.dims) continue;
    const auto input = match_exp_input(*exponentials, *axis, context);
    if (!input) continue;
    Softmax softmax{*input, 1, expr.dims[*axis], 1};
    for (std::size_t d = 0; d < expr.dims.size(); ++d) {
      if (d != *axis) (d < *axis ? softmax.outer : softmax.inner) *= expr.dims[d];
    }
    return softmax;
  }
  return std::nullopt;
}

}  // namespace rulemill::optimize::gpu
