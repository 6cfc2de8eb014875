// Matrix products, also in batches: every index is of both factors, of one alone, or summed over.
#include <algorithm>
#include <map>

#include "optimize/gpu/match.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;

namespace {

/// An index, or several that run as one, and how far apart its steps are in each of the three tensors.
struct Axis {
  std::int64_t extent = 1;
  std::array<std::int64_t, 3> stride{};  // left, right, out

  /// As one with `inner`, the next faster one, where all tensors have them one after the other.
  bool take_in(const Axis& inner) {
    for (std::size_t t = 0; t < 3; ++t) {
      if (stride[t] != inner.stride[t] * inner.extent) return false;
    }
    extent *= inner.extent;
    stride = inner.stride;
    return true;
  }
};

/// Coefficients of a position that is a sum of multiples of indices, and nothing else.
std::optional<std::map<Atom, std::int64_t>> strides_of(const Poly& position, const algebra::Symbols& symbols) {
  std::map<Atom, std::int64_t> strides;
  for (const auto& term : position.terms()) {
    if (term.monomial.size() != 1 || symbols.kind(term.monomial[0]) != algebra::Symbols::Kind::Index)
      return std::nullopt;
    strides[term.monomial[0]] = term.coefficient;
  }
  return strides;
}

/// All axes as one; nothing if they are not one after the other everywhere.
std::optional<Axis> joined(std::vector<Axis> axes, std::size_t by) {
  if (axes.empty()) return Axis{};
  std::ranges::sort(axes, std::ranges::greater(), [&](const Axis& axis) { return axis.stride[by]; });
  Axis all = axes[0];
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (!all.take_in(axes[i])) return std::nullopt;
  }
  return all;
}

constexpr std::size_t left = 0, right = 1, out = 2;

struct Axes {
  Axis batch, row, column, depth;
};

/// By which of the tensors have the index.
std::optional<Axes> axes_of(const Body& body, const Contraction& found, const Element& a, const Element& b,
                            const Context& context) {
  std::array<std::map<Atom, std::int64_t>, 3> strides;
  const std::array<Poly, 3> positions{position(a.indices, context.dims[a.tensor]),
                                      position(b.indices, context.dims[b.tensor]), own_position(body)};
  std::map<Atom, std::int64_t> extents;
  for (std::size_t t = 0; t < 3; ++t) {
    const auto linear = strides_of(positions[t], context.symbols);
    if (!linear) return std::nullopt;
    strides[t] = *linear;
  }
  for (const auto& [index, stride] : strides[out]) extents[index] = body.extents.at(index);
  for (const Atom index : found.bound) extents[index] = body.extents.at(index);
  std::array<std::vector<Axis>, 4> kinds;
  for (const auto& [index, extent] : extents) {
    Axis axis{extent, {}};
    for (std::size_t t = 0; t < 3; ++t) axis.stride[t] = strides[t].contains(index) ? strides[t].at(index) : 0;
    const bool in_left = axis.stride[left] != 0, in_right = axis.stride[right] != 0, in_out = axis.stride[out] != 0;
    if (std::ranges::any_of(axis.stride, [](std::int64_t stride) { return stride < 0; })) return std::nullopt;
    if (in_out ? !in_left && !in_right : !in_left || !in_right) return std::nullopt;
    kinds[!in_out ? 3 : in_left && in_right ? 0 : in_left ? 1 : 2].push_back(axis);
  }
  // One that a batch alone walks through belongs to it, too, where that makes one step of it.
  const auto batch = joined(kinds[0], out), row = joined(kinds[1], out), column = joined(kinds[2], out),
             depth = joined(kinds[3], left);
  if (!batch || !row || !column || !depth) return std::nullopt;
  return Axes{*batch, *row, *column, *depth};
}

/// One of a matrix's two strides is 1, and lines do not overlap.
bool is_matrix(std::int64_t rows, std::int64_t row, std::int64_t columns, std::int64_t column) {
  const bool by_rows = (column == 1 || columns == 1) && (rows == 1 || row >= columns);
  const bool by_columns = (row == 1 || rows == 1) && (columns == 1 || column >= rows);
  return by_rows || by_columns;
}

std::optional<Product> product_of(const Body& body, const Contraction& found, const Element& a, const Element& b,
                                  const Context& context) {
  const auto axes = axes_of(body, found, a, b, context);
  if (!axes) return std::nullopt;
  const auto& [batch, row, column, depth] = *axes;
  if (depth.extent == 1 || (column.extent > 1 && column.stride[out] != 1)) return std::nullopt;
  Product made{a.tensor, b.tensor, batch.extent, row.extent, column.extent, depth.extent, {}, {}, {}, found.scale, {}};
  made.left_strides = {batch.stride[left], row.stride[left], depth.stride[left]};
  made.right_strides = {batch.stride[right], depth.stride[right], column.stride[right]};
  made.out_strides = {batch.stride[out], row.stride[out], column.stride[out]};
  if (!is_matrix(made.rows, made.left_strides.row, made.depth, made.left_strides.column) ||
      !is_matrix(made.depth, made.right_strides.row, made.columns, made.right_strides.column) ||
      !is_matrix(made.rows, made.out_strides.row, made.columns, made.out_strides.column))
    return std::nullopt;
  return made;
}

}  // namespace

CublasMatrix cublas_matrix(std::int64_t rows, std::int64_t row, std::int64_t columns, std::int64_t column) {
  const bool by_rows = (column == 1 || columns == 1) && (rows == 1 || row >= columns);
  if (by_rows) return {columns, rows, rows == 1 ? columns : row, false};
  return {rows, columns, columns == 1 ? rows : column, true};
}

std::optional<Product> product_of(const Body& body, const Context& context) {
  if (body.dims.empty()) return std::nullopt;
  const Core core = core_of(body, body.dims.size() - 1, context);
  const auto found = contraction_of(*core.element);
  if (!found || found->reads.size() != 2 || found->bound.empty()) return std::nullopt;
  if (!reads_inside(*found->reads[0], body, context) || !reads_inside(*found->reads[1], body, context))
    return std::nullopt;
  for (const std::size_t first : {0, 1}) {
    auto made = product_of(body, *found, *found->reads[first], *found->reads[1 - first], context);
    if (!made) continue;
    made->epilogue = core.epilogue;
    // A bias is one number for each column.
    if (made->epilogue.bias && made->columns != body.dims.back()) continue;
    return made;
  }
  return std::nullopt;
}

}  // namespace rulemill::optimize::gpu
