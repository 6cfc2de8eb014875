// Index expressions at fixed sizes as base + Σ coefficient · index, where they are so: what makes loops over them fast.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algebra/language/expression.h"

namespace rulemill::algebra {

/// base + Σ coefficient · index[slot], or the tree itself where it is not affine.
struct Offset {
  std::int64_t base = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> linear;
  IndexExprPtr tree;

  std::int64_t at(std::span<const std::int64_t> sizes, std::span<const std::int64_t> indices) const {
    if (tree) return evaluate(*tree, sizes, indices);
    std::int64_t value = base;
    for (const auto& [slot, coefficient] : linear) value += coefficient * indices[slot];
    return value;
  }
};

Offset offset(const IndexExprPtr& expr, std::span<const std::int64_t> sizes);

/// The coefficients of the given indices, if the expression is (anything without them) + Σ coefficient · index.
std::optional<std::vector<std::int64_t>> coefficients(const IndexExpr& expr, std::span<const std::int64_t> sizes,
                                                      std::span<const std::uint32_t> slots);

}  // namespace rulemill::algebra
