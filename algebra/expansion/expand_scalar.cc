// Expands tensors and scalar expressions.
#include "algebra/expansion/expander.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/text/unknown_name.h"

namespace rulemill::algebra {

TensorDefinition Expander::expand_tensor(const syntax::Tensor& syntax) {
  TensorDefinition tensor;
  tensor.name = syntax.name;
  tensor.scalar_kind = syntax.scalar_kind;
  const auto outer_names = names_;
  const auto outer_lists = lists_;
  std::vector<std::string> introduced;
  for (const syntax::Binding& output_index : syntax.indices) {
    const std::vector<IndexExprPtr> extents = expand_item(output_index.extent);
    if (!output_index.is_pack && extents.size() != 1)
      fail(output_index.place,
           "'" + output_index.name + "' is one index, its extent a pack: write " + output_index.name + "...");
    if (output_index.is_pack) lists_[output_index.name] = static_cast<std::uint32_t>(extents.size());
    for (std::uint32_t k = 0; k < extents.size(); ++k) {
      tensor.dims.push_back(extents[k]);
      introduced.push_back(output_index.is_pack ? element_name(output_index.name, k) : output_index.name);
    }
  }
  next_index_ = 0;
  extents_.clear();
  for (std::size_t d = 0; d < introduced.size(); ++d) define(introduced[d], new_index(tensor.dims[d]), syntax.place);
  tensor.body = expand_scalar(*syntax.body);
  names_ = outer_names;
  lists_ = outer_lists;
  return tensor;
}

IndexExprPtr Expander::new_index(IndexExprPtr extent) {
  extents_.push_back(std::move(extent));
  instance_.index_slots = std::max(instance_.index_slots, next_index_ + 1);
  return make_slot(IndexKind::Index, next_index_++);
}

ScalarExprPtr Expander::expand_scalar(const syntax::Scalar& node) {
  using Kind = syntax::Scalar::Kind;
  ScalarExpr expr;
  switch (node.kind) {
    case Kind::Number:
      expr.value = node.number;
      break;
    case Kind::Read:
      return expand_read(node);
    case Kind::Add:
    case Kind::Mul:
      expr.kind = node.kind == Kind::Add ? ScalarExpr::Kind::Add : ScalarExpr::Kind::Mul;
      for (const auto& operand : node.operands) expr.operands.push_back(expand_scalar(*operand));
      break;
    case Kind::Sub: {
      expr.kind = ScalarExpr::Kind::Add;
      ScalarExpr minus_one, negated;
      minus_one.value = {-1, 1};
      negated.kind = ScalarExpr::Kind::Mul;
      negated.operands = {std::make_shared<ScalarExpr>(minus_one), expand_scalar(*node.operands[1])};
      expr.operands = {expand_scalar(*node.operands[0]), std::make_shared<ScalarExpr>(negated)};
      break;
    }
    case Kind::DivideBySize: {
      const IndexExprPtr divisor = expand_index(*node.divisor);
      if (!is_positive(*divisor)) fail(node.divisor->place, divisor_may_be_zero);
      ScalarExpr inverse;
      if (divisor->kind == IndexKind::Constant) {
        inverse.value = make_rational(1, divisor->value);
      } else {
        inverse.kind = ScalarExpr::Kind::InverseSize;
        inverse.indices = {divisor};
      }
      ScalarExprPtr dividend = expand_scalar(*node.operands[0]);
      if (dividend->kind == ScalarExpr::Kind::Constant && inverse.kind == ScalarExpr::Kind::Constant) {
        try {
          expr.value = dividend->value * inverse.value;
        } catch (const Overflow& overflow) {
          fail(node.place, overflow.what());
        }
        break;
      }
      expr.kind = ScalarExpr::Kind::Mul;
      expr.operands = {dividend, std::make_shared<ScalarExpr>(inverse)};
      break;
    }
    case Kind::Sum:
    case Kind::Max:
      return expand_reduction(node);
    case Kind::Apply:
      return expand_application(node);
    case Kind::Case:
      expr.kind = ScalarExpr::Kind::Case;
      add_guards(node.guard, expr.guard);
      for (const auto& operand : node.operands) expr.operands.push_back(expand_scalar(*operand));
      break;
  }
  return std::make_shared<ScalarExpr>(std::move(expr));
}

ScalarExprPtr Expander::expand_read(const syntax::Scalar& node) {
  ScalarExpr expr;
  expr.kind = ScalarExpr::Kind::Read;
  const auto found = std::ranges::find(tensor_names_, node.name);
  if (found == tensor_names_.end())
    fail(node.place, "'" + node.name + "' is no input or tensor of operator '" + op_.name + "'");
  expr.tensor = static_cast<std::uint32_t>(found - tensor_names_.begin());
  expr.indices = drop_broadcast_indices(expr.tensor, expand_items(node.indices));
  if (expr.indices.size() != tensor_ranks_[expr.tensor])
    fail(node.place, fmt::format("'{}' has {} dimensions, read with {} indices", node.name, tensor_ranks_[expr.tensor],
                                 expr.indices.size()));
  return std::make_shared<ScalarExpr>(std::move(expr));
}

/// The indices into a broadcast input: 0 for a dimension of extent 1, none for an absent dimension.
std::vector<IndexExprPtr> Expander::drop_broadcast_indices(std::uint32_t tensor,
                                                           std::vector<IndexExprPtr> indices) const {
  if (tensor >= spreads_.size() || spreads_[tensor].empty()) return indices;
  const std::vector<std::int64_t>& spread = spreads_[tensor];
  std::vector<IndexExprPtr> result;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const std::size_t k = d - pack_starts_[tensor];
    const std::int64_t extent_kind = d < pack_starts_[tensor] || k >= spread.size() ? spread_whole : spread[k];
    if (extent_kind == spread_whole) result.push_back(indices[d]);
    if (extent_kind == spread_one) result.push_back(make_constant(0));
  }
  return result;
}

void Expander::add_guards(const std::vector<syntax::Comparison>& guards, std::vector<Comparison>& to) {
  for (const syntax::Comparison& guard : guards) {
    for (Comparison& comparison : expand_comparison(guard)) to.push_back(std::move(comparison));
  }
}

ScalarExprPtr Expander::expand_reduction(const syntax::Scalar& node) {
  ScalarExpr expr;
  expr.kind = node.kind == syntax::Scalar::Kind::Sum ? ScalarExpr::Kind::Sum : ScalarExpr::Kind::Max;
  const auto outer = names_;
  const auto outer_lists = lists_;
  std::vector<Comparison> index_bounds;
  for (const syntax::Binding& binding : node.bound) {
    const std::vector<IndexExprPtr> extents = expand_item(binding.extent);
    if (!binding.is_pack && extents.size() != 1)
      fail(binding.place, "'" + binding.name + "' is one index, its extent a pack: write " + binding.name + "...");
    const syntax::Place at = binding.extent.expression ? binding.extent.expression->place : binding.extent.place;
    for (std::uint32_t k = 0; k < extents.size(); ++k) {
      const IndexExprPtr& extent = extents[k];
      const IndexExprPtr max_extent = has_index(*extent) ? find_range(*extent, at).high : extent;
      const IndexExprPtr slot = new_index(max_extent);
      define(binding.is_pack ? element_name(binding.name, k) : binding.name, slot, binding.place);
      expr.bound.push_back({slot->slot, max_extent});
      if (max_extent != extent) index_bounds.push_back({Relation::Lt, slot, extent});
    }
    if (binding.is_pack) lists_[binding.name] = static_cast<std::uint32_t>(extents.size());
  }
  add_guards(node.guard, expr.guard);
  expr.operands = {expand_scalar(*node.operands[0])};
  names_ = outer;
  lists_ = outer_lists;
  if (expr.bound.empty() && expr.guard.empty()) return expr.operands[0];
  if (index_bounds.empty()) return std::make_shared<ScalarExpr>(std::move(expr));
  if (expr.kind == ScalarExpr::Kind::Max) {
    expr.guard.insert(expr.guard.end(), index_bounds.begin(), index_bounds.end());
  } else {
    ScalarExpr guarded;
    guarded.kind = ScalarExpr::Kind::Case;
    guarded.guard = std::move(index_bounds);
    guarded.operands = {expr.operands[0], std::make_shared<ScalarExpr>()};
    expr.operands = {std::make_shared<ScalarExpr>(std::move(guarded))};
  }
  return std::make_shared<ScalarExpr>(std::move(expr));
}

Expander::Range Expander::find_range(const IndexExpr& expr, syntax::Place at) const {
  if (!has_index(expr)) {
    const auto copy = std::make_shared<IndexExpr>(expr);
    return {copy, copy};
  }
  if (expr.kind == IndexKind::Index)
    return {make_constant(0), combine(IndexKind::Sub, extents_[expr.slot], make_constant(1))};
  const Range a = find_range(*expr.a, at), b = find_range(*expr.b, at);
  const bool is_fixed_a = !has_index(*expr.a), is_fixed_b = !has_index(*expr.b);
  switch (expr.kind) {
    case IndexKind::Add:
    case IndexKind::Min:
    case IndexKind::Max:
      return {combine(expr.kind, a.low, b.low), combine(expr.kind, a.high, b.high)};
    case IndexKind::Sub:
      return {combine(expr.kind, a.low, b.high), combine(expr.kind, a.high, b.low)};
    case IndexKind::Mul: {
      const IndexExpr& factor = is_fixed_a ? *expr.a : *expr.b;
      const Range& other = is_fixed_a ? b : a;
      const IndexExprPtr factor_expr = std::make_shared<IndexExpr>(factor);
      const bool is_negative = factor.kind == IndexKind::Constant && factor.value < 0;
      if ((!is_fixed_a && !is_fixed_b) || (!is_negative && !is_positive(factor) && !is_constant(factor_expr, 0))) break;
      const IndexExprPtr low = combine(IndexKind::Mul, other.low, factor_expr),
                         high = combine(IndexKind::Mul, other.high, factor_expr);
      return is_negative ? Range{high, low} : Range{low, high};
    }
    case IndexKind::Div:
      if (!is_fixed_b) break;
      return {combine(IndexKind::Div, a.low, b.low), combine(IndexKind::Div, a.high, b.low)};
    case IndexKind::Mod:
      return {make_constant(0), combine(IndexKind::Sub, b.high, make_constant(1))};
    default:
      break;
  }
  fail(at, "the largest value of this bound is not known: indices may be added, and multiplied or divided by sizes");
}

ScalarExprPtr Expander::expand_application(const syntax::Scalar& node) {
  std::string name = node.name;
  if (const syntax::Parameter* declared = op_.parameter(name)) {
    const auto* enum_value = std::get_if<std::string>(&parameter(name, node.place));
    if (!enum_value) fail(node.place, "parameter '" + name + "' is applied like a function but is none");
    name = *enum_value;
    if (name == "none") {
      if (node.operands.size() != 1) fail(node.place, "'" + declared->name + "' takes one argument");
      return expand_scalar(*node.operands[0]);
    }
  }
  ScalarExpr expr;
  expr.kind = ScalarExpr::Kind::Apply;
  const Function* function = context_.function(name, &expr.function);
  if (!function) {
    const std::vector<std::string> close = runtime::close_names(name, context_.function_names());
    fail(node.place, fmt::format("'{}' is no scalar function; {}", name,
                                 close.empty() ? "define one, such as function larger(a, b) = max(a, b)"
                                               : fmt::format("did you mean {}?", fmt::join(close, " or "))));
  }
  if (function->arity != node.operands.size())
    fail(node.place,
         fmt::format("function '{}' takes {} arguments, found {}", name, function->arity, node.operands.size()));
  for (const auto& operand : node.operands) expr.operands.push_back(expand_scalar(*operand));
  return std::make_shared<ScalarExpr>(std::move(expr));
}

}  // namespace rulemill::algebra
