// Index expressions at fixed sizes in affine form, base + Σ coefficient · index, which makes loops over them fast.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algebra/operators/expression.h"

namespace rulemill::algebra {

/// base + Σ coefficient · index[slot], or the expression tree if it is not affine.
struct AffineIndex {
  std::int64_t base = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> terms;
  IndexExprPtr non_affine;

  std::int64_t at(std::span<const std::int64_t> sizes, std::span<const std::int64_t> indices) const {
    if (non_affine) return evaluate(*non_affine, sizes, indices);
    std::int64_t value = base;
    for (const auto& [slot, coefficient] : terms) value += coefficient * indices[slot];
    return value;
  }
};

AffineIndex make_affine(const IndexExprPtr& expr, std::span<const std::int64_t> sizes);

/// The coefficients of the indices `slots`, if the expression is (a part without them) + Σ coefficient · index.
std::optional<std::vector<std::int64_t>> linear_coefficients(const IndexExpr& expr, std::span<const std::int64_t> sizes,
                                                             std::span<const std::uint32_t> slots);

}  // namespace rulemill::algebra
