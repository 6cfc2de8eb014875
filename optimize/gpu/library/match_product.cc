// Matrix products and batched products: every index occurs in both factors, in one of them, or is summed over.
#include <algorithm>
#include <map>

#include "optimize/gpu/library/match.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;

namespace {

/// An index, or several merged ones, with its stride in each of the three tensors.
struct Axis {
  std::int64_t extent = 1;
  std::array<std::int64_t, 3> stride{};  // left, right, result

  /// Merges with `inner`, the next faster index, if they are contiguous in all tensors.
  bool absorb_inner(const Axis& inner) {
    for (std::size_t t = 0; t < 3; ++t) {
      if (stride[t] != inner.stride[t] * inner.extent) return false;
    }
    extent *= inner.extent;
    stride = inner.stride;
    return true;
  }
};

/// Returns the coefficient of each index in an offset that is linear; else nullopt.
std::optional<std::map<Atom, std::int64_t>> strides_of(const Poly& position, const algebra::Symbols& symbols) {
  std::map<Atom, std::int64_t> strides;
  for (const auto& term : position.terms()) {
    if (term.monomial.size() != 1 || symbols.kind(term.monomial[0]) != algebra::Symbols::Kind::Index)
      return std::nullopt;
    strides[term.monomial[0]] = term.coefficient;
  }
  return strides;
}

/// Merges all axes; nullopt if they are not contiguous in all tensors.
std::optional<Axis> merge_axes(std::vector<Axis> axes, std::size_t by) {
  if (axes.empty()) return Axis{};
  std::ranges::sort(axes, std::ranges::greater(), [&](const Axis& axis) { return axis.stride[by]; });
  Axis all = axes[0];
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (!all.absorb_inner(axes[i])) return std::nullopt;
  }
  return all;
}

constexpr std::size_t left = 0, right = 1, into = 2;

struct Axes {
  Axis batch, row, column, depth;
};

/// Classifies the indices by the tensors that they occur in.
std::optional<Axes> classify_axes(const TensorExpr& expr, const Contraction& found, const ElementExpr& a,
                                  const ElementExpr& b, const MatchContext& context) {
  std::array<std::map<Atom, std::int64_t>, 3> strides;
  const std::array<Poly, 3> positions{linear_offset(a.indices, context.dims[a.tensor]),
                                      linear_offset(b.indices, context.dims[b.tensor]), own_offset(expr)};
  std::map<Atom, std::int64_t> extents;
  for (std::size_t t = 0; t < 3; ++t) {
    const auto linear = strides_of(positions[t], context.symbols);
    if (!linear) return std::nullopt;
    strides[t] = *linear;
  }
  for (const auto& [index, stride] : strides[into]) extents[index] = expr.extents.at(index);
  for (const Atom index : found.bound) extents[index] = expr.extents.at(index);
  std::array<std::vector<Axis>, 4> groups;
  for (const auto& [index, extent] : extents) {
    Axis axis{extent, {}};
    for (std::size_t t = 0; t < 3; ++t) axis.stride[t] = strides[t].contains(index) ? strides[t].at(index) : 0;
    const bool in_left = axis.stride[left] != 0, in_right = axis.stride[right] != 0, in_out = axis.stride[into] != 0;
    if (std::ranges::any_of(axis.stride, [](std::int64_t stride) { return stride < 0; })) return std::nullopt;
    if (in_out ? !in_left && !in_right : !in_left || !in_right) return std::nullopt;
    groups[!in_out ? 3 : in_left && in_right ? 0 : in_left ? 1 : 2].push_back(axis);
  }
  const auto batch = merge_axes(groups[0], into), row = merge_axes(groups[1], into),
             column = merge_axes(groups[2], into), depth = merge_axes(groups[3], left);
  if (!batch || !row || !column || !depth) return std::nullopt;
  return Axes{*batch, *row, *column, *depth};
}

/// Whether one stride is 1 and lines do not overlap.
bool is_matrix(std::int64_t rows, std::int64_t row, std::int64_t columns, std::int64_t column) {
  const bool by_rows = (column == 1 || columns == 1) && (rows == 1 || row >= columns);
  const bool by_columns = (row == 1 || rows == 1) && (columns == 1 || column >= rows);
  return by_rows || by_columns;
}

std::optional<Product> match_product(const TensorExpr& expr, const Contraction& found, const ElementExpr& a,
                                     const ElementExpr& b, const MatchContext& context) {
  const auto axes = classify_axes(expr, found, a, b, context);
  if (!axes) return std::nullopt;
  const auto& [batch, row, column, depth] = *axes;
  if (depth.extent == 1 || (column.extent > 1 && column.stride[into] != 1)) return std::nullopt;
  Product product{a.tensor, b.tensor, batch.extent, row.extent, column.extent, depth.extent, {},
                  {},       {},       found.scale,  {}};
  product.left_strides = {batch.stride[left], row.stride[left], depth.stride[left]};
  product.right_strides = {batch.stride[right], depth.stride[right], column.stride[right]};
  product.out_strides = {batch.stride[into], row.stride[into], column.stride[into]};
  if (!is_matrix(product.rows, product.left_strides.row, product.depth, product.left_strides.column) ||
      !is_matrix(product.depth, product.right_strides.row, product.columns, product.right_strides.column) ||
      !is_matrix(product.rows, product.out_strides.row, product.columns, product.out_strides.column))
    return std::nullopt;
  return product;
}

}  // namespace

CublasMatrix cublas_matrix(std::int64_t rows, std::int64_t row, std::int64_t columns, std::int64_t column) {
  const bool by_rows = (column == 1 || columns == 1) && (rows == 1 || row >= columns);
  if (by_rows) return {columns, rows, rows == 1 ? columns : row, false};
  return {rows, columns, columns == 1 ? rows : column, true};
}

std::optional<Product> match_product(const TensorExpr& expr, const MatchContext& context) {
  if (expr.dims.empty()) return std::nullopt;
  const CoreExpr core = split_epilogue(expr, expr.dims.size() - 1, context);
  const auto found = match_contraction(*core.element);
  if (!found || found->reads.size() != 2 || found->bound.empty()) return std::nullopt;
  if (!is_in_bounds(*found->reads[0], expr, context) || !is_in_bounds(*found->reads[1], expr, context))
    return std::nullopt;
  for (const std::size_t first : {0, 1}) {
    auto product = match_product(expr, *found, *found->reads[first], *found->reads[1 - first], context);
    if (!product) continue;
    product->epilogue = core.epilogue;
    // The bias has one element per column.
    if (product->epilogue.bias && product->columns != expr.dims.back()) continue;
    return product;
  }
  return std::nullopt;
}

}  // namespace rulemill::optimize::gpu
