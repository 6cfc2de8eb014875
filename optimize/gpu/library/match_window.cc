// Convolutions and pools: reads at i · stride + u · dilation − pad.
#include <algorithm>
#include <cmath>

#include "optimize/gpu/library/match.h"

namespace rulemill::optimize::gpu {

using algebra::Atom;
using algebra::Poly;
using Kind = ElementExpr::Kind;

namespace {

/// A dimension along which a window slides.
struct WindowAxis {
  Atom tap{};  // the bound index, if window > 1
  std::int64_t window = 1, stride = 1, dilation = 1, pad = 0;
};

/// Matches index = output index · stride + (one bound index) · dilation − pad; rejects two bound indices.
std::optional<WindowAxis> match_window_axis(const Poly& index, const Poly& output_index, std::span<const Atom> bound,
                                            const Extents& extents) {
  WindowAxis axis;
  axis.pad = -index.constant_term();
  Poly rest = index + Poly(axis.pad);
  if (const auto atom = output_index.atom()) {
    axis.stride = index.coefficient(*atom);
    rest -= output_index * Poly(axis.stride);
  }
  for (const Atom each : bound) {
    const std::int64_t factor = rest.coefficient(each);
    if (factor == 0) continue;
    if (axis.window > 1) return std::nullopt;
    axis.tap = each;
    axis.window = extents.at(each);
    axis.dilation = factor;
    rest -= Poly(each) * Poly(factor);
  }
  if (!rest.is_zero() || axis.stride < 1 || axis.dilation < 1) return std::nullopt;
  return axis;
}

/// Matches dimensions 2 and on; batch and channel are the output's own.
std::optional<std::vector<WindowAxis>> match_window_axes(const ElementExpr& read, const TensorExpr& expr,
                                                         std::span<const Atom> bound) {
  std::vector<WindowAxis> axes;
  for (std::size_t d = 2; d < expr.dims.size(); ++d) {
    const auto axis = match_window_axis(read.indices[d], index_of(expr, d), bound, expr.extents);
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  return axes;
}

bool has_spatial_dims(const TensorExpr& expr, const ElementExpr& read) {
  return expr.dims.size() >= 3 && expr.dims.size() <= 5 && read.indices.size() == expr.dims.size();
}

/// Whether each bound index is the tap of exactly one axis, or is `other`.
bool uses_all_indices(std::span<const Atom> bound, const std::vector<WindowAxis>& axes, std::optional<Atom> other) {
  return std::ranges::all_of(bound, [&](Atom index) {
    const auto along = std::ranges::count_if(axes, [&](const WindowAxis& s) { return s.window > 1 && s.tap == index; });
    return along + (other == index ? 1 : 0) == 1;
  });
}

/// Returns the image channel that output channel o and filter channel q read.
Poly channel_read(const TensorExpr& expr, std::int64_t groups, std::int64_t filters, std::int64_t group_size,
                  const Poly& q, algebra::Symbols& symbols) {
  const Poly group = symbols.floor_div(index_of(expr, 1), filters / groups);
  return simplify(group * Poly(group_size) + q, expr.extents, symbols);
}

std::optional<Convolution> match_convolution(const TensorExpr& expr, const Contraction& found, const ElementExpr& image,
                                             const ElementExpr& filters, const MatchContext& context) {
  const auto &x = context.dims[image.tensor], &k = context.dims[filters.tensor];
  if (!has_spatial_dims(expr, image) || k.size() != x.size() || k[0] != expr.dims[1] || x[0] != expr.dims[0])
    return std::nullopt;
  if (image.indices[0] != index_of(expr, 0) || filters.indices[0] != index_of(expr, 1)) return std::nullopt;
  const std::int64_t in_group = k[1];
  if (x[1] % in_group != 0 || k[0] % (x[1] / in_group) != 0) return std::nullopt;
  Convolution result{image.tensor, filters.tensor, x[1] / in_group, {}, {}, {}, {}, {}};
  const Poly q = filters.indices[1];
  const auto channel = q.atom();
  if (in_group == 1 ? !q.is_zero() : !channel || !std::ranges::count(found.bound, *channel)) return std::nullopt;
  if (channel && expr.extents.at(*channel) != in_group) return std::nullopt;
  if (image.indices[1] != channel_read(expr, result.groups, k[0], in_group, q, context.symbols)) return std::nullopt;
  const auto axes = match_window_axes(image, expr, found.bound);
  if (!axes || !uses_all_indices(found.bound, *axes, channel)) return std::nullopt;
  for (std::size_t d = 0; d < axes->size(); ++d) {
    const WindowAxis& axis = axes->at(d);
    if (axis.window != k[d + 2] || filters.indices[d + 2] != (axis.window > 1 ? Poly(axis.tap) : Poly(0)))
      return std::nullopt;
    const std::int64_t end = (expr.dims[d + 2] - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1;
    result.stride.push_back(axis.stride);
    result.dilation.push_back(axis.dilation);
    result.pad_begin.push_back(axis.pad);
    result.pad_end.push_back(end - x[d + 2] - axis.pad);
  }
  return result;
}

/// Whether the guard is exactly that the read is in bounds.
bool has_bounds_guard(const ElementExpr& maximum, const ElementExpr& read, const TensorExpr& expr,
                      const MatchContext& context) {
  std::vector<Guard> expected;
  const auto& dims = context.dims[read.tensor];
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const Range range = range_of(read.indices[d], expr.extents, context.symbols);
    if (range.low < 0) expected.push_back({algebra::Relation::Le, -read.indices[d]});
    if (range.high >= dims[d]) expected.push_back({algebra::Relation::Lt, read.indices[d] - Poly(dims[d])});
  }
  return std::ranges::is_permutation(maximum.guard, expected, [](const Guard& a, const Guard& b) {
    return a.relation == b.relation && a.value == b.value;
  });
}

/// Matches a pool whose number of windows agrees with the libraries' formula.
std::optional<Pooling> match_pooling(const TensorExpr& expr, std::span<const Atom> bound, const ElementExpr& read,
                                     const MatchContext& context) {
  if (!has_spatial_dims(expr, read)) return std::nullopt;
  if (read.indices[0] != index_of(expr, 0) || read.indices[1] != index_of(expr, 1)) return std::nullopt;
  const auto& x = context.dims[read.tensor];
  const auto axes = match_window_axes(read, expr, bound);
  if (x[0] != expr.dims[0] || x[1] != expr.dims[1] || !axes || !uses_all_indices(bound, *axes, {})) return std::nullopt;
  Pooling result{read.tensor, false, {}, {}, {}};
  for (std::size_t d = 0; d < axes->size(); ++d) {
    const WindowAxis& axis = axes->at(d);
    const std::int64_t slack = x[d + 2] + 2 * axis.pad - axis.window;
    if (axis.dilation != 1 || axis.pad < 0 || axis.pad >= axis.window || slack < 0) return std::nullopt;
    if (slack / axis.stride + 1 != expr.dims[d + 2]) return std::nullopt;
    result.window.push_back(axis.window);
    result.stride.push_back(axis.stride);
    result.pad.push_back(axis.pad);
  }
  return result;
}

}  // namespace

bool Convolution::has_symmetric_padding(std::span<const std::int64_t> image_dims,
                                        std::span<const std::int64_t> filter_dims,
                                        std::span<const std::int64_t> out_dims) const {
  for (std::size_t d = 0; d < stride.size(); ++d) {
    const std::int64_t window_extent = (filter_dims[d + 2] - 1) * dilation[d] + 1;
    const std::int64_t slack = image_dims[d + 2] + 2 * pad_begin[d] - window_extent;
    if (pad_begin[d] < 0 || slack < 0 || slack / stride[d] + 1 != out_dims[d + 2]) return false;
  }
  return true;
}

std::optional<Convolution> match_convolution(const TensorExpr& expr, const MatchContext& context) {
  const CoreExpr core = split_epilogue(expr, 1, context);
  const auto found = match_contraction(*core.element);
  if (!found || found->reads.size() != 2 || found->scale != 1) return std::nullopt;
  for (const std::size_t image : {0, 1}) {
    if (auto result = match_convolution(expr, *found, *found->reads[image], *found->reads[1 - image], context)) {
      result->epilogue = core.epilogue;
      return result;
    }
  }
  return std::nullopt;
}

std::optional<Pooling> match_pooling(const TensorExpr& expr, const MatchContext& context) {
  const ElementExpr& element = *expr.element;
  if (element.kind == Kind::Max) {
    const ElementExpr& read = *element.operands[0];
    if (read.kind != Kind::Read || !has_bounds_guard(element, read, expr, context)) return std::nullopt;
    return match_pooling(expr, element.bound, read, context);
  }
  const auto found = match_contraction(element);
  if (!found || found->reads.size() != 1 || found->bound.empty()) return std::nullopt;
  auto result = match_pooling(expr, found->bound, *found->reads[0], context);
  if (!result) return std::nullopt;
  double elements = 1;
  for (const std::int64_t length : result->window) elements *= static_cast<double>(length);
  if (std::fabs(found->scale * elements - 1) > 1e-12) return std::nullopt;
  result->mean = true;
  return result;
}

}  // namespace rulemill::optimize::gpu
