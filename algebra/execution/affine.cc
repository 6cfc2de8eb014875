#include "algebra/execution/affine.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::algebra {
namespace {

using Kind = IndexExpr::Kind;

/// So small that no sum of products with indices that can be counted to exceeds 64 bits; others stay trees, whose
/// evaluation is checked.
constexpr std::int64_t largest_coefficient = std::int64_t{1} << 18, largest_base = std::int64_t{1} << 60;

bool small(const Offset& offset) {
  const auto at_most = [](std::int64_t value, std::int64_t bound) { return -bound <= value && value <= bound; };
  return at_most(offset.base, largest_base) && std::ranges::all_of(offset.linear, [&](const auto& term) {
           return at_most(term.second, largest_coefficient);
         });
}

std::optional<Offset> affine(const IndexExpr& expr, std::span<const std::int64_t> sizes) {
  Offset result;
  switch (expr.kind) {
    case Kind::Constant:
      result.base = expr.value;
      return result;
    case Kind::Size:
      result.base = sizes[expr.slot];
      return result;
    case Kind::Index:
      result.linear = {{expr.slot, 1}};
      return result;
    default:
      break;
  }
  std::optional<Offset> a = affine(*expr.a, sizes), b = affine(*expr.b, sizes);
  if (!a || !b) return std::nullopt;
  if (a->linear.empty() && b->linear.empty()) {
    result.base = evaluate(expr, sizes, {});
    return result;
  }
  if (expr.kind == Kind::Mul) {
    if (!b->linear.empty()) std::swap(a, b);
    if (!b->linear.empty()) return std::nullopt;
    a->base = checked_multiply(a->base, b->base);
    for (auto& [slot, coefficient] : a->linear) coefficient = checked_multiply(coefficient, b->base);
    return a;
  }
  if (expr.kind != Kind::Add && expr.kind != Kind::Sub) return std::nullopt;
  const std::int64_t sign = expr.kind == Kind::Add ? 1 : -1;
  a->base = checked_add(a->base, sign * b->base);
  for (const auto& [slot, coefficient] : b->linear) {
    const auto found = std::ranges::find(a->linear, slot, &std::pair<std::uint32_t, std::int64_t>::first);
    if (found == a->linear.end())
      a->linear.emplace_back(slot, sign * coefficient);
    else
      found->second = checked_add(found->second, sign * coefficient);
  }
  return a;
}

bool has_index(const IndexExpr& expr) {
  return expr.kind == Kind::Index || (expr.a && (has_index(*expr.a) || has_index(*expr.b)));
}

}  // namespace

Offset offset(const IndexExprPtr& expr, std::span<const std::int64_t> sizes) {
  if (std::optional<Offset> result = affine(*expr, sizes); result && small(*result)) return *result;
  Offset result;
  result.tree = expr;
  return result;
}

std::optional<std::vector<std::int64_t>> coefficients(const IndexExpr& expr, std::span<const std::int64_t> sizes,
                                                      std::span<const std::uint32_t> slots) {
  std::vector<std::int64_t> result(slots.size(), 0);
  if (expr.kind == Kind::Index) {
    const auto found = std::ranges::find(slots, expr.slot);
    if (found != slots.end()) result[static_cast<std::size_t>(found - slots.begin())] = 1;
    return result;
  }
  if (!expr.a) return result;
  const auto a = coefficients(*expr.a, sizes, slots), b = coefficients(*expr.b, sizes, slots);
  if (!a || !b) return std::nullopt;
  auto free_of_slots = [](const std::vector<std::int64_t>& values) {
    return std::ranges::all_of(values, [](std::int64_t value) { return value == 0; });
  };
  if (free_of_slots(*a) && free_of_slots(*b)) return result;
  if (expr.kind == Kind::Add || expr.kind == Kind::Sub) {
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = expr.kind == Kind::Add ? checked_add((*a)[i], (*b)[i]) : checked_subtract((*a)[i], (*b)[i]);
    return result;
  }
  if (expr.kind != Kind::Mul) return std::nullopt;
  const bool left = free_of_slots(*a) && !has_index(*expr.a), right = free_of_slots(*b) && !has_index(*expr.b);
  if (!left && !right) return std::nullopt;
  const std::int64_t factor = evaluate(left ? *expr.a : *expr.b, sizes, {});
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = checked_multiply(factor, left ? (*b)[i] : (*a)[i]);
  const auto too_large = [](std::int64_t value) { return value < -largest_coefficient || value > largest_coefficient; };
  if (std::ranges::any_of(result, too_large)) return std::nullopt;
  return result;
}

}  // namespace rulemill::algebra
