// Builds and inspects index expressions.
#pragma once

#include <span>

#include "algebra/operators/expression.h"

namespace rulemill::algebra {

IndexExprPtr make_constant(std::int64_t value);
IndexExprPtr make_slot(IndexExpr::Kind kind, std::uint32_t slot);
bool is_same(const IndexExpr& a, const IndexExpr& b);
bool is_constant(const IndexExprPtr& expr, std::int64_t value);
bool has_index(const IndexExpr& expr);

/// a op b with constants folded and neutral elements removed. Throws Overflow.
IndexExprPtr combine(IndexExpr::Kind kind, IndexExprPtr a, IndexExprPtr b);
/// Replaces each size slot by its expression in `sizes`.
IndexExprPtr substitute_sizes(const IndexExprPtr& expr, std::span<const IndexExprPtr> sizes);
Comparison substitute_sizes(const Comparison& comparison, std::span<const IndexExprPtr> sizes);

/// Whether the tree has at most `budget` nodes; substituted names can grow it exponentially. Reduces the budget.
bool is_within_budget(const IndexExpr& expr, std::size_t& budget);

}  // namespace rulemill::algebra
