#include "optimize/gpu/lowering/tensor_expr.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;
using algebra::Relation;
using algebra::ScalarExpr;
using Kind = ElementExpr::Kind;

namespace {

ElementExprPtr constant(double value) {
  auto result = std::make_shared<ElementExpr>();
  result->value = value;
  return result;
}

class InstanceLowering {
 public:
  InstanceLowering(const TensorExprs& exprs, std::span<const std::int64_t> sizes,
                   std::span<const std::optional<double>> numbers, algebra::Symbols& symbols)
      : exprs_(exprs), sizes_(sizes.begin(), sizes.end()), numbers_(numbers), symbols_(symbols) {}

  TensorExpr lower(const algebra::TensorDefinition& definition, std::size_t index_slots) {
    TensorExpr expr;
    indices_.assign(std::max(index_slots, definition.dims.size()), Poly());
    for (std::size_t d = 0; d < definition.dims.size(); ++d) {
      expr.dims.push_back(std::max<std::int64_t>(0, algebra::evaluate(*definition.dims[d], sizes_, {})));
      const Atom index = symbols_.index("i" + std::to_string(d));
      expr.indices.push_back(index);
      indices_[d] = Poly(index);
      extents_[index] = std::max<std::int64_t>(1, expr.dims.back());
    }
    expr.element = element(*definition.body);
    expr.extents = std::move(extents_);
    return expr;
  }

 private:
  ElementExprPtr element(const ScalarExpr& expr) {
    auto result = std::make_shared<ElementExpr>();
    result->kind = expr.kind;
    switch (expr.kind) {
      case Kind::Constant:
        return constant(static_cast<double>(expr.value.num) / static_cast<double>(expr.value.den));
      case Kind::InverseSize:
        result->indices = {index(*expr.indices[0])};
        if (const auto size = result->indices[0].constant()) return constant(1.0 / static_cast<double>(*size));
        return result;
      case Kind::Read:
        return read(expr, *result);
      case Kind::Sum:
      case Kind::Max:
        return reduction(expr, *result);
      case Kind::Case: {
        const auto guard = simplify_guard(expr.guard);
        if (!guard) return element(*expr.operands[1]);
        if (guard->empty()) return element(*expr.operands[0]);
        result->guard = *guard;
        break;
      }
      default:
        result->function = expr.function;
        break;
    }
    for (const auto& operand : expr.operands) result->operands.push_back(element(*operand));
    return drop_unit_factors(result);
  }

  /// Removes factors of one, such as the scales of a Gemm.
  static ElementExprPtr drop_unit_factors(const std::shared_ptr<ElementExpr>& element) {
    if (element->kind != Kind::Mul) return element;
    std::erase_if(element->operands,
                  [](const ElementExprPtr& factor) { return factor->kind == Kind::Constant && factor->value == 1; });
    if (element->operands.empty()) return constant(1);
    return element->operands.size() == 1 ? element->operands[0] : element;
  }

  ElementExprPtr read(const ScalarExpr& expr, ElementExpr result) {
    result.tensor = expr.tensor;
    if (expr.tensor < numbers_.size() && numbers_[expr.tensor] && exprs_.dims[expr.tensor].empty())
      return constant(*numbers_[expr.tensor]);
    const auto& dims = exprs_.dims[expr.tensor];
    for (std::size_t d = 0; d < expr.indices.size(); ++d) {
      result.indices.push_back(index(*expr.indices[d]));
      const Range range = range_of(result.indices.back(), extents_, symbols_);
      if (range.high < 0 || range.low >= dims[d]) return constant(0);
    }
    return std::make_shared<ElementExpr>(std::move(result));
  }

  ElementExprPtr reduction(const ScalarExpr& expr, ElementExpr result) {
    for (const auto& bound : expr.bound) {
      const std::int64_t extent = algebra::evaluate(*bound.extent, sizes_, {});
      if (extent < 1) return constant(0);
      std::string name = "r" + std::to_string(bound.slot);
      while (extents_.contains(symbols_.index(name))) name += "_";  // used in another branch
      const Atom index = symbols_.index(name);
      indices_[bound.slot] = Poly(index);
      extents_[index] = extent;
      if (extent > 1) result.bound.push_back(index);
    }
    const auto guard = simplify_guard(expr.guard);
    if (!guard) return constant(0);
    result.guard = *guard;
    result.operands = {element(*expr.operands[0])};
    if (result.bound.empty() && result.guard.empty()) return result.operands[0];
    return std::make_shared<ElementExpr>(std::move(result));
  }

  /// Returns the conditions that are not always true; nullopt if one is always false.
  std::optional<std::vector<Guard>> simplify_guard(std::span<const algebra::Comparison> comparisons) {
    std::vector<Guard> result;
    for (const auto& comparison : comparisons) {
      const Poly value = simplify(index(*comparison.a) - index(*comparison.b), extents_, symbols_);
      const Range range = range_of(value, extents_, symbols_);
      const bool zero = range.low == 0 && range.high == 0, nonzero = range.high < 0 || range.low > 0;
      bool always = false, never = false;
      switch (comparison.relation) {
        case Relation::Eq:
          always = zero, never = nonzero;
          break;
        case Relation::Ne:
          always = nonzero, never = zero;
          break;
        case Relation::Lt:
          always = range.high < 0, never = range.low >= 0;
          break;
        case Relation::Le:
          always = range.high <= 0, never = range.low > 0;
          break;
      }
      if (never) return std::nullopt;
      if (!always) result.push_back({comparison.relation, value});
    }
    return result;
  }

  Poly index(const algebra::IndexExpr& expr) {
    return simplify(algebra::evaluate(expr, sizes_as_polys(), indices_, symbols_), extents_, symbols_);
  }
  const std::vector<Poly>& sizes_as_polys() {
    if (size_polys_.empty()) size_polys_.assign(sizes_.begin(), sizes_.end());
    return size_polys_;
  }

  const TensorExprs& exprs_;
  std::vector<std::int64_t> sizes_;
  std::vector<Poly> size_polys_;
  std::span<const std::optional<double>> numbers_;
  algebra::Symbols& symbols_;
  std::vector<Poly> indices_;
  Extents extents_;
};

}  // namespace

std::int64_t TensorExpr::elements() const { return algebra::element_count(dims); }

std::optional<TensorExprs> lower_instance(const algebra::OperatorInstance& instance,
                                          std::span<const std::vector<std::int64_t>> inputs,
                                          std::span<const std::int64_t> size_parameters, algebra::Symbols& symbols,
                                          std::span<const std::optional<double>> numbers) {
  std::vector<std::int64_t> sizes;
  if (!algebra::infer(instance, inputs, size_parameters, &sizes)) return std::nullopt;
  TensorExprs exprs{{inputs.begin(), inputs.end()}, inputs.size(), instance.intermediates.size(), {}};
  for (const auto* definitions : {&instance.intermediates, &instance.outputs}) {
    for (const auto& definition : *definitions) {
      exprs.computed.push_back(
          InstanceLowering(exprs, sizes, numbers, symbols).lower(definition, instance.index_slots));
      // Outputs are not read, but are numbered as well.
      exprs.dims.push_back(exprs.computed.back().dims);
    }
  }
  return exprs;
}

ElementExprPtr substitute(const ElementExprPtr& element, const algebra::Substitution& indices,
                          std::span<const std::uint32_t> tensors, algebra::Symbols& symbols) {
  auto result = std::make_shared<ElementExpr>(*element);
  if (result->kind == Kind::Read && !tensors.empty()) result->tensor = tensors[result->tensor];
  for (Poly& index : result->indices) index = symbols.substitute(index, indices);
  for (Guard& guard : result->guard) guard.value = symbols.substitute(guard.value, indices);
  for (Atom& bound : result->bound) {
    const auto found = indices.find(bound);
    if (found != indices.end()) bound = found->second.atom().value();
  }
  for (ElementExprPtr& operand : result->operands) operand = substitute(operand, indices, tensors, symbols);
  return result;
}

ElementExprPtr simplify(const ElementExprPtr& element, const Extents& extents, algebra::Symbols& symbols) {
  auto result = std::make_shared<ElementExpr>(*element);
  for (Poly& index : result->indices) index = simplify(index, extents, symbols);
  for (Guard& guard : result->guard) guard.value = simplify(guard.value, extents, symbols);
  for (ElementExprPtr& operand : result->operands) operand = simplify(operand, extents, symbols);
  return result;
}

void for_each_subexpr(const ElementExpr& element, const std::function<void(const ElementExpr&)>& visit) {
  visit(element);
  for (const ElementExprPtr& operand : element.operands) for_each_subexpr(*operand, visit);
}

Poly index_of(const TensorExpr& expr, std::size_t dimension) {
  return expr.dims[dimension] == 1 ? Poly(0) : Poly(expr.indices[dimension]);
}

Poly linear_offset(std::span<const Poly> indices, std::span<const std::int64_t> dims, Layout layout) {
  Poly result;
  for (const std::size_t d : dims_in_memory_order(layout, dims.size())) result = result * Poly(dims[d]) + indices[d];
  return result;
}

Poly own_offset(const TensorExpr& expr, Layout layout) {
  std::vector<Poly> indices;
  for (std::size_t d = 0; d < expr.dims.size(); ++d) indices.push_back(index_of(expr, d));
  return linear_offset(indices, expr.dims, layout);
}

bool is_in_range(const Poly& index, std::int64_t dim, const Extents& extents, const algebra::Symbols& symbols) {
  const Range range = range_of(index, extents, symbols);
  return range.low >= 0 && range.high < dim;
}

}  // namespace rulemill::optimize::gpu
