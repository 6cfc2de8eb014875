#include "optimize/gpu/library/match.h"

#include <algorithm>

namespace rulemill::optimize::gpu {

LibraryOp recognize_library_op(const TensorExpr& expr, const MatchContext& context) {
  if (auto found = match_convolution(expr, context)) return *found;
  if (auto found = match_pooling(expr, context)) return *found;
  if (auto found = match_product(expr, context)) return *found;
  if (auto found = match_softmax(expr, context)) return *found;
  return {};
}

using algebra::Function;
using Kind = ElementExpr::Kind;

bool is_program(const Function& function, std::span<const Function::Instruction> steps) {
  return std::ranges::equal(function.program, steps,
                            [](const Function::Instruction& a, const Function::Instruction& b) {
                              return a.op == b.op && (a.op != Function::Op::Number || a.number == b.number) &&
                                     (a.op != Function::Op::Argument || a.argument == b.argument);
                            });
}

bool is_relu(const Function& function) {
  using Op = Function::Op;
  const std::array<Function::Instruction, 3> argument_first{{{Op::Argument}, {Op::Number}, {Op::Max}}};
  const std::array<Function::Instruction, 3> number_first{{{Op::Number}, {Op::Argument}, {Op::Max}}};
  return is_program(function, argument_first) || is_program(function, number_first);
}

CoreExpr split_epilogue(const TensorExpr& expr, std::size_t channel, const MatchContext& context) {
  CoreExpr core{expr.element.get(), {}};
  if (core.element->kind == Kind::Apply && is_relu(context.functions[core.element->function])) {
    core.epilogue.relu = true;
    core.element = core.element->operands[0].get();
  }
  if (core.element->kind != Kind::Add || core.element->operands.size() != 2 || channel >= expr.dims.size()) return core;
  for (const std::size_t side : {0, 1}) {
    const ElementExpr& bias = *core.element->operands[side];
    if (bias.kind != Kind::Read) continue;
    const auto& dims = context.dims[bias.tensor];
    if (algebra::element_count(dims) != expr.dims[channel] || !is_in_bounds(bias, expr, context)) continue;
    if (linear_offset(bias.indices, dims) != index_of(expr, channel)) continue;
    core.epilogue.bias = bias.tensor;
    core.element = core.element->operands[1 - side].get();
    return core;
  }
  return core;
}

bool is_in_bounds(const ElementExpr& read, const TensorExpr& expr, const MatchContext& context) {
  const auto& dims = context.dims[read.tensor];
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!is_in_range(read.indices[d], dims[d], expr.extents, context.symbols)) return false;
  }
  return true;
}

std::optional<Contraction> match_contraction(const ElementExpr& element) {
  Contraction found;
  const auto add_factor = [&](const ElementExpr& factor) {
    if (factor.kind == Kind::Constant) {
      found.scale *= factor.value;
    } else if (factor.kind == Kind::Read) {
      found.reads.push_back(&factor);
    } else if (factor.kind == Kind::Sum && found.bound.empty() && factor.guard.empty()) {
      found.bound = factor.bound;
      found.inner = factor.operands[0].get();
    } else {
      return false;
    }
    return true;
  };
  const auto add_factors = [&](const ElementExpr& product) {
    if (product.kind != Kind::Mul) return add_factor(product);
    return std::ranges::all_of(product.operands, [&](const ElementExprPtr& factor) { return add_factor(*factor); });
  };
  if (!add_factors(element)) return std::nullopt;
  if (found.inner != nullptr && (!found.reads.empty() || !add_factors(*found.inner))) return std::nullopt;
  return found;
}

}  // namespace rulemill::optimize::gpu
