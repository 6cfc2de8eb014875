// Tensors and what their elements are.
#include "algebra/language/expander.h"

namespace rulemill::algebra {

TensorDefinition Expander::tensor_definition(const syntax::Tensor& syntax) {
  TensorDefinition tensor;
  tensor.name = syntax.name;
  tensor.kind = syntax.kind;
  const auto outer_names = names_;
  const auto outer_lists = lists_;
  std::vector<std::string> introduced;
  for (const syntax::OutputIndex& output_index : syntax.indices) {
    const std::vector<IndexExprPtr> extents = entry_values(output_index.extent);
    if (!output_index.is_pack && extents.size() != 1) {
      fail(output_index.place,
           "'" + output_index.name + "' is one index, its extent a pack: write " + output_index.name + "...");
    }
    if (output_index.is_pack) lists_[output_index.name] = static_cast<std::uint32_t>(extents.size());
    for (std::uint32_t k = 0; k < extents.size(); ++k) {
      tensor.dims.push_back(extents[k]);
      introduced.push_back(output_index.is_pack ? pack_element(output_index.name, k) : output_index.name);
    }
  }
  next_index_ = 0;
  extents_.clear();
  for (std::size_t d = 0; d < introduced.size(); ++d) define(introduced[d], new_index(tensor.dims[d]), syntax.place);
  tensor.body = scalar(*syntax.body);
  names_ = outer_names;
  lists_ = outer_lists;
  return tensor;
}

IndexExprPtr Expander::new_index(IndexExprPtr extent) {
  extents_.push_back(std::move(extent));
  instance_.index_slots = std::max(instance_.index_slots, next_index_ + 1);
  return slot_reference(IndexKind::Index, next_index_++);
}

ScalarExprPtr Expander::scalar(const syntax::Scalar& node) {
  using Kind = syntax::Scalar::Kind;
  ScalarExpr expr;
  switch (node.kind) {
    case Kind::Number:
      expr.value = node.number;
      break;
    case Kind::Read:
      return read(node);
    case Kind::Add:
    case Kind::Mul:
      expr.kind = node.kind == Kind::Add ? ScalarExpr::Kind::Add : ScalarExpr::Kind::Mul;
      for (const auto& operand : node.operands) expr.operands.push_back(scalar(*operand));
      break;
    case Kind::Sub: {
      expr.kind = ScalarExpr::Kind::Add;
      ScalarExpr minus_one, negated;
      minus_one.value = {-1, 1};
      negated.kind = ScalarExpr::Kind::Mul;
      negated.operands = {std::make_shared<ScalarExpr>(minus_one), scalar(*node.operands[1])};
      expr.operands = {scalar(*node.operands[0]), std::make_shared<ScalarExpr>(negated)};
      break;
    }
    case Kind::DivideBySize: {
      const IndexExprPtr divisor = index(*node.divisor);
      if (!positive(*divisor))
        fail(node.divisor->place, "this divisor may be zero: divide by sizes, positive numbers and their products");
      ScalarExpr inverse;
      if (divisor->kind == IndexKind::Constant) {
        inverse.value = make_rational(1, divisor->value);
      } else {
        inverse.kind = ScalarExpr::Kind::InverseSize;
        inverse.indices = {divisor};
      }
      ScalarExprPtr dividend = scalar(*node.operands[0]);
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
      return reduction(node);
    case Kind::Apply:
      return application(node);
    case Kind::Case:
      expr.kind = ScalarExpr::Kind::Case;
      add_guards(node.guard, expr.guard);
      for (const auto& operand : node.operands) expr.operands.push_back(scalar(*operand));
      break;
  }
  return std::make_shared<ScalarExpr>(std::move(expr));
}

ScalarExprPtr Expander::read(const syntax::Scalar& node) {
  ScalarExpr expr;
  expr.kind = ScalarExpr::Kind::Read;
  const auto found = std::ranges::find(tensor_names_, node.name);
  if (found == tensor_names_.end())
    fail(node.place, "'" + node.name + "' is no input or tensor of operator '" + op_.name + "'");
  expr.tensor = static_cast<std::uint32_t>(found - tensor_names_.begin());
  expr.indices = without_repeated(expr.tensor, entries(node.indices));
  if (expr.indices.size() != tensor_ranks_[expr.tensor]) {
    fail(node.place, "'" + node.name + "' has " + std::to_string(tensor_ranks_[expr.tensor]) +
                         " dimensions, read with " + std::to_string(expr.indices.size()) + " indices");
  }
  return std::make_shared<ScalarExpr>(std::move(expr));
}

/// Indices into an input whose pack is repeated: 0 where it has one element, none where it has no dimension.
std::vector<IndexExprPtr> Expander::without_repeated(std::uint32_t tensor, std::vector<IndexExprPtr> indices) const {
  if (tensor >= spreads_.size() || spreads_[tensor].empty()) return indices;
  const std::vector<std::int64_t>& spread = spreads_[tensor];
  std::vector<IndexExprPtr> result;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const std::size_t k = d - pack_starts_[tensor];
    const std::int64_t how = d < pack_starts_[tensor] || k >= spread.size() ? spread_whole : spread[k];
    if (how == spread_whole) result.push_back(indices[d]);
    if (how == spread_one) result.push_back(constant(0));
  }
  return result;
}

void Expander::add_guards(const std::vector<syntax::Comparison>& guards, std::vector<Comparison>& to) {
  for (const syntax::Comparison& guard : guards) {
    for (Comparison& comparison : comparisons(guard)) to.push_back(std::move(comparison));
  }
}

ScalarExprPtr Expander::reduction(const syntax::Scalar& node) {
  ScalarExpr expr;
  expr.kind = node.kind == syntax::Scalar::Kind::Sum ? ScalarExpr::Kind::Sum : ScalarExpr::Kind::Max;
  const auto outer = names_;
  const auto outer_lists = lists_;
  std::vector<Comparison> within;
  for (const syntax::Binding& binding : node.bound) {
    const std::vector<IndexExprPtr> extents = entry_values(binding.extent);
    if (!binding.is_pack && extents.size() != 1)
      fail(binding.place, "'" + binding.name + "' is one index, its extent a pack: write " + binding.name + "...");
    const syntax::Place at = binding.extent.single ? binding.extent.single->place : binding.extent.place;
    for (std::uint32_t k = 0; k < extents.size(); ++k) {
      const IndexExprPtr& extent = extents[k];
      const IndexExprPtr widest = has_index(*extent) ? range(*extent, at).high : extent;
      const IndexExprPtr slot = new_index(widest);
      define(binding.is_pack ? pack_element(binding.name, k) : binding.name, slot, binding.place);
      expr.bound.push_back({slot->slot, widest});
      if (widest != extent) within.push_back({Relation::Lt, slot, extent});
    }
    if (binding.is_pack) lists_[binding.name] = static_cast<std::uint32_t>(extents.size());
  }
  add_guards(node.guard, expr.guard);
  expr.operands = {scalar(*node.operands[0])};
  names_ = outer;
  lists_ = outer_lists;
  if (expr.bound.empty() && expr.guard.empty()) return expr.operands[0];
  if (within.empty()) return std::make_shared<ScalarExpr>(std::move(expr));
  if (expr.kind == ScalarExpr::Kind::Max) {
    expr.guard.insert(expr.guard.end(), within.begin(), within.end());
  } else {
    ScalarExpr inside;
    inside.kind = ScalarExpr::Kind::Case;
    inside.guard = std::move(within);
    inside.operands = {expr.operands[0], std::make_shared<ScalarExpr>()};
    expr.operands = {std::make_shared<ScalarExpr>(std::move(inside))};
  }
  return std::make_shared<ScalarExpr>(std::move(expr));
}

Expander::Range Expander::range(const IndexExpr& expr, syntax::Place at) const {
  if (!has_index(expr)) {
    const auto same = std::make_shared<IndexExpr>(expr);
    return {same, same};
  }
  if (expr.kind == IndexKind::Index) return {constant(0), combine(IndexKind::Sub, extents_[expr.slot], constant(1))};
  const Range a = range(*expr.a, at), b = range(*expr.b, at);
  const bool fixed_a = !has_index(*expr.a), fixed_b = !has_index(*expr.b);
  switch (expr.kind) {
    case IndexKind::Add:
    case IndexKind::Min:
    case IndexKind::Max:
      return {combine(expr.kind, a.low, b.low), combine(expr.kind, a.high, b.high)};
    case IndexKind::Sub:
      return {combine(expr.kind, a.low, b.high), combine(expr.kind, a.high, b.low)};
    case IndexKind::Mul: {
      const IndexExpr& factor = fixed_a ? *expr.a : *expr.b;
      const Range& other = fixed_a ? b : a;
      const IndexExprPtr by = std::make_shared<IndexExpr>(factor);
      const bool falls = factor.kind == IndexKind::Constant && factor.value < 0;
      if ((!fixed_a && !fixed_b) || (!falls && !positive(factor) && !is_constant(by, 0))) break;
      const IndexExprPtr low = combine(IndexKind::Mul, other.low, by), high = combine(IndexKind::Mul, other.high, by);
      return falls ? Range{high, low} : Range{low, high};
    }
    case IndexKind::Div:
      if (!fixed_b) break;
      return {combine(IndexKind::Div, a.low, b.low), combine(IndexKind::Div, a.high, b.low)};
    case IndexKind::Mod:
      return {constant(0), combine(IndexKind::Sub, b.high, constant(1))};
    default:
      break;
  }
  fail(at, "the largest value of this bound is not known: indices may be added, and multiplied or divided by sizes");
}

ScalarExprPtr Expander::application(const syntax::Scalar& node) {
  std::string name = node.name;
  if (const syntax::Parameter* declared = op_.parameter(name)) {
    const auto* word = std::get_if<std::string>(&parameter(name, node.place));
    if (!word) fail(node.place, "parameter '" + name + "' is applied like a function but is none");
    name = *word;
    if (name == "none") {
      if (node.operands.size() != 1) fail(node.place, "'" + declared->name + "' takes one argument");
      return scalar(*node.operands[0]);
    }
  }
  ScalarExpr expr;
  expr.kind = ScalarExpr::Kind::Apply;
  const Function* function = context_.function(name, &expr.function);
  if (!function) fail(node.place, "'" + name + "' is no scalar function");
  if (function->arity != node.operands.size()) {
    fail(node.place, "function '" + name + "' takes " + std::to_string(function->arity) + " arguments, found " +
                         std::to_string(node.operands.size()));
  }
  for (const auto& operand : node.operands) expr.operands.push_back(scalar(*operand));
  return std::make_shared<ScalarExpr>(std::move(expr));
}

}  // namespace rulemill::algebra
