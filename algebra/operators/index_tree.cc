#include "algebra/operators/index_tree.h"

#include "algebra/operators/index_value.h"

namespace rulemill::algebra {

IndexExprPtr make_constant(std::int64_t value) {
  IndexExpr expr;
  expr.value = value;
  return std::make_shared<IndexExpr>(std::move(expr));
}

IndexExprPtr make_slot(IndexExpr::Kind kind, std::uint32_t slot) {
  IndexExpr expr;
  expr.kind = kind;
  expr.slot = slot;
  return std::make_shared<IndexExpr>(std::move(expr));
}

bool is_same(const IndexExpr& a, const IndexExpr& b) {
  if (a.kind != b.kind || a.value != b.value || a.slot != b.slot) return false;
  return !a.a || (is_same(*a.a, *b.a) && is_same(*a.b, *b.b));
}

bool is_constant(const IndexExprPtr& expr, std::int64_t value) {
  return expr->kind == IndexExpr::Kind::Constant && expr->value == value;
}

IndexExprPtr combine(IndexExpr::Kind kind, IndexExprPtr a, IndexExprPtr b) {
  if ((kind == IndexExpr::Kind::Add || kind == IndexExpr::Kind::Sub) && is_constant(b, 0)) return a;
  if (kind == IndexExpr::Kind::Add && is_constant(a, 0)) return b;
  if ((kind == IndexExpr::Kind::Mul || kind == IndexExpr::Kind::Div) && is_constant(b, 1)) return a;
  if (kind == IndexExpr::Kind::Mul && is_constant(a, 1)) return b;
  IndexExpr expr;
  expr.kind = kind;
  const bool fold = a->kind == IndexExpr::Kind::Constant && b->kind == IndexExpr::Kind::Constant;
  expr.a = std::move(a);
  expr.b = std::move(b);
  if (fold) return make_constant(evaluate(expr, {}, {}));
  return std::make_shared<IndexExpr>(std::move(expr));
}

IndexExprPtr substitute_sizes(const IndexExprPtr& expr, std::span<const IndexExprPtr> sizes) {
  if (expr->kind == IndexExpr::Kind::Size) return sizes[expr->slot];
  if (!expr->a) return expr;
  return combine(expr->kind, substitute_sizes(expr->a, sizes), substitute_sizes(expr->b, sizes));
}

Comparison substitute_sizes(const Comparison& comparison, std::span<const IndexExprPtr> sizes) {
  return {comparison.relation, substitute_sizes(comparison.a, sizes), substitute_sizes(comparison.b, sizes)};
}

bool is_within_budget(const IndexExpr& expr, std::size_t& budget) {
  if (budget-- == 0) return false;
  return !expr.a || (is_within_budget(*expr.a, budget) && is_within_budget(*expr.b, budget));
}

bool has_index(const IndexExpr& expr) {
  return expr.kind == IndexExpr::Kind::Index || (expr.a && (has_index(*expr.a) || has_index(*expr.b)));
}

Poly evaluate(const IndexExpr& expr, std::span<const Poly> sizes, std::span<const Poly> indices, Symbols& symbols) {
  return index_value(expr, sizes, indices, symbols);
}

}  // namespace rulemill::algebra
