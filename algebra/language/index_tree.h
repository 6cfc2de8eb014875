// Building and looking at resolved index expressions. Private to the loader.
#pragma once

#include <span>

#include "algebra/language/expression.h"

namespace rulemill::algebra {

IndexExprPtr constant(std::int64_t value);
IndexExprPtr slot_reference(IndexExpr::Kind kind, std::uint32_t slot);
bool same(const IndexExpr& a, const IndexExpr& b);
bool is_constant(const IndexExprPtr& expr, std::int64_t value);
bool has_index(const IndexExpr& expr);

/// a op b, constants folded and neutral elements left out. Throws Overflow.
IndexExprPtr combine(IndexExpr::Kind kind, IndexExprPtr a, IndexExprPtr b);
/// Size slots replaced by expressions.
IndexExprPtr replace_sizes(const IndexExprPtr& expr, std::span<const IndexExprPtr> sizes);
Comparison replace_sizes(const Comparison& comparison, std::span<const IndexExprPtr> sizes);

/// Whether the tree has no more than `budget` nodes; names that stand for one another can double it each time.
bool fits(const IndexExpr& expr, std::size_t& budget);

}  // namespace rulemill::algebra
