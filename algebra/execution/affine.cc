#include "algebra/execution/affine.h"

#include <algorithm>

#include "algebra/operators/index_tree.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

using IndexKind = IndexExpr::Kind;

/// Within these limits no value exceeds 64 bits for any index that a loop can reach. Other expressions stay trees,
/// whose evaluation is checked for overflow.
constexpr std::int64_t max_coefficient = std::int64_t{1} << 18, max_base = std::int64_t{1} << 60;

bool is_small(const AffineIndex& index) {
  const auto at_most = [](std::int64_t value, std::int64_t bound) { return -bound <= value && value <= bound; };
  return at_most(index.base, max_base) &&
         std::ranges::all_of(index.terms, [&](const auto& term) { return at_most(term.second, max_coefficient); });
}

std::optional<AffineIndex> to_affine(const IndexExpr& expr, std::span<const std::int64_t> sizes) {
  AffineIndex result;
  switch (expr.kind) {
    case IndexKind::Constant:
      result.base = expr.value;
      return result;
    case IndexKind::Size:
      result.base = sizes[expr.slot];
      return result;
    case IndexKind::Index:
      result.terms = {{expr.slot, 1}};
      return result;
    default:
      break;
  }
  std::optional<AffineIndex> a = to_affine(*expr.a, sizes), b = to_affine(*expr.b, sizes);
  if (!a || !b) return std::nullopt;
  if (a->terms.empty() && b->terms.empty()) {
    result.base = evaluate(expr, sizes, {});
    return result;
  }
  if (expr.kind == IndexKind::Mul) {
    if (!b->terms.empty()) std::swap(a, b);
    if (!b->terms.empty()) return std::nullopt;
    a->base = checked_multiply(a->base, b->base);
    for (auto& [slot, coefficient] : a->terms) coefficient = checked_multiply(coefficient, b->base);
    return a;
  }
  if (expr.kind != IndexKind::Add && expr.kind != IndexKind::Sub) return std::nullopt;
  const std::int64_t sign = expr.kind == IndexKind::Add ? 1 : -1;
  a->base = checked_add(a->base, sign * b->base);
  for (const auto& [slot, coefficient] : b->terms) {
    const auto found = std::ranges::find(a->terms, slot, &std::pair<std::uint32_t, std::int64_t>::first);
    if (found == a->terms.end())
      a->terms.emplace_back(slot, sign * coefficient);
    else
      found->second = checked_add(found->second, sign * coefficient);
  }
  return a;
}

}  // namespace

AffineIndex make_affine(const IndexExprPtr& expr, std::span<const std::int64_t> sizes) {
  if (std::optional<AffineIndex> result = to_affine(*expr, sizes); result && is_small(*result)) return *result;
  AffineIndex result;
  result.non_affine = expr;
  return result;
}

std::optional<std::vector<std::int64_t>> linear_coefficients(const IndexExpr& expr, std::span<const std::int64_t> sizes,
                                                             std::span<const std::uint32_t> slots) {
  std::vector<std::int64_t> result(slots.size(), 0);
  if (expr.kind == IndexKind::Index) {
    const auto found = std::ranges::find(slots, expr.slot);
    if (found != slots.end()) result[static_cast<std::size_t>(found - slots.begin())] = 1;
    return result;
  }
  if (!expr.a) return result;
  const auto a = linear_coefficients(*expr.a, sizes, slots), b = linear_coefficients(*expr.b, sizes, slots);
  if (!a || !b) return std::nullopt;
  auto is_zero = [](const std::vector<std::int64_t>& values) {
    return std::ranges::all_of(values, [](std::int64_t value) { return value == 0; });
  };
  if (is_zero(*a) && is_zero(*b)) return result;
  if (expr.kind == IndexKind::Add || expr.kind == IndexKind::Sub) {
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = expr.kind == IndexKind::Add ? checked_add((*a)[i], (*b)[i]) : checked_subtract((*a)[i], (*b)[i]);
    return result;
  }
  if (expr.kind != IndexKind::Mul) return std::nullopt;
  const bool left = is_zero(*a) && !has_index(*expr.a), right = is_zero(*b) && !has_index(*expr.b);
  if (!left && !right) return std::nullopt;
  const std::int64_t factor = evaluate(left ? *expr.a : *expr.b, sizes, {});
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = checked_multiply(factor, left ? (*b)[i] : (*a)[i]);
  const auto too_large = [](std::int64_t value) { return value < -max_coefficient || value > max_coefficient; };
  if (std::ranges::any_of(result, too_large)) return std::nullopt;
  return result;
}

}  // namespace rulemill::algebra
