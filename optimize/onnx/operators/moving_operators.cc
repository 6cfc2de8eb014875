// The operators whose results are elements of their first input.
#include <algorithm>
#include <numeric>

#include "optimize/onnx/operators/arguments.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize::operators {
namespace {

using algebra::Poly;

Movement unchanged(const Arguments& arguments) { return {Movement::Kind::Identity, arguments.dims()}; }

Movement reshaped(Dimensions dims) { return {Movement::Kind::Reshape, std::move(dims)}; }

/// A movement whose result has the dimensions of its axes.
Movement moved(std::vector<MovedAxis> axes) {
  Movement movement{Movement::Kind::Axes, Dimensions(), std::move(axes)};
  for (const MovedAxis& axis : movement.axes) movement.dims->push_back(axis.size);
  return movement;
}

/// The axes of the first input as they are.
std::vector<MovedAxis> axes_of(const Dimensions& dims) {
  std::vector<MovedAxis> axes;
  for (std::size_t d = 0; d < dims.size(); ++d) axes.push_back({dims[d], d});
  return axes;
}

std::optional<std::int64_t> number(const Dimension& dim) { return dim ? dim->constant() : std::nullopt; }

/// Returns the quotient of all dimensions and the known ones; nullopt if it is not known.
Dimension missing_dimension(const Arguments& arguments, Dimensions all, Dimensions known) {
  std::erase_if(known, [&](const Dimension& dim) {
    const auto same = std::ranges::find(all, dim);
    if (!dim || same == all.end()) return false;
    all.erase(same);
    return true;
  });
  const Dimension dividend = product(all), divisor = product(known);
  if (!dividend || !divisor || divisor->is_zero()) return std::nullopt;
  const Poly quotient = arguments.symbols().floor_div(*dividend, *divisor);
  const bool is_exact = quotient * *divisor == *dividend;
  if (dividend->constant() && divisor->constant() && !is_exact) return std::nullopt;
  return is_exact || arguments.symbols().is_positive(*divisor) ? Dimension(quotient) : std::nullopt;
}

/// The dimensions that a reshape requests, with 0 as a copy of a dimension unless `allowzero`, and one -1 as the rest.
class ReshapeDims {
 public:
  ReshapeDims(const Arguments& arguments, const Dimensions& requested)
      : arguments_(arguments), dims_(requested), allows_zero_(arguments.integer("allowzero", 0) == 1) {}

  std::optional<Dimensions> run() {
    if (!allows_zero_ && arguments_.integer("allowzero", 0) != 0) return std::nullopt;  // onnxruntime knows 0 and 1
    if (!read_numbers()) return std::nullopt;
    read_sizes();
    const auto& input = arguments_.dims();
    if (rest_) {
      Dimensions known = dims_;
      known.erase(known.begin() + static_cast<std::ptrdiff_t>(*rest_));
      const auto may_be_empty = [&](const Dimension& dim) { return !dim || !arguments_.symbols().is_positive(*dim); };
      const bool is_ambiguous = allows_zero_ && std::ranges::any_of(known, may_be_empty);
      dims_[*rest_] = input && !is_ambiguous ? missing_dimension(arguments_, *input, known) : std::nullopt;
    } else if (const auto before = to_numbers(input), after = to_numbers(dims_); before && after) {
      if (element_count(*before) != element_count(*after)) return std::nullopt;
    }
    return dims_;
  }

 private:
  bool read_numbers() {
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      const auto requested = number(dims_[d]);
      if (!requested || *requested > 0 || (*requested == 0 && allows_zero_)) continue;
      if (*requested < -1 || (*requested == -1 && std::exchange(rest_, d))) return false;
      if (*requested == 0 && arguments_.dims() && d >= arguments_.dims()->size()) return false;
      dims_[d] = *requested == 0 && arguments_.dims() ? (*arguments_.dims())[d] : std::nullopt;
    }
    return true;
  }

  /// A size that may be 0 may copy a dimension. It does not, or copies a 0, if the input has as many elements: it has
  /// the size as this dimension, or the size is the only one and divides the number of elements.
  void read_sizes() {
    const auto& input = arguments_.dims();
    std::vector<std::size_t> uncertain;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      if (!dims_[d] || arguments_.symbols().is_positive(*dims_[d])) continue;
      const bool is_copy = input && d < input->size() && (*input)[d] == dims_[d];
      if (!is_copy && !(allows_zero_ && arguments_.symbols().is_nonnegative(*dims_[d]))) uncertain.push_back(d);
    }
    const Dimension all = input ? product(*input) : std::nullopt;
    const auto divides = [&](const Poly& size) {
      return all && arguments_.symbols().is_nonnegative(size) && !size.is_zero() &&
             arguments_.symbols().floor_div(*all, size) * size == *all;
    };
    if (uncertain.size() == 1 && !rest_ && divides(*dims_[uncertain[0]])) return;
    for (const std::size_t d : uncertain) dims_[d] = std::nullopt;
  }

  const Arguments& arguments_;
  Dimensions dims_;
  bool allows_zero_;
  std::optional<std::size_t> rest_;
};

/// Longer axes are not repeated.
constexpr std::int64_t max_tiled_size = 1 << 20;

/// Part of an axis. Positions that count from the end, or exceed the axis, are those that ONNX says; nothing is known
/// where runtimes differ: steps back from before the start, or to the mark of the end.
class SlicedAxis {
 public:
  SlicedAxis(const Arguments& arguments, Dimension size, Dimension start, Dimension end, Dimension step)
      : arguments_(arguments),
        size_(std::move(size)),
        start_(std::move(start)),
        end_(std::move(end)),
        step_(number(step)) {}

  bool is_whole() const {
    const auto end = number(end_);
    return start_ == Poly(0) && step_ == 1 && end && *end >= max_dimension;
  }

  MovedAxis of(std::size_t axis) const {
    const MovedAxis unknown{std::nullopt, axis, 0, 0};
    if (is_whole()) return {size_, axis};
    if (!size_ || !start_ || !end_ || !step_ || *step_ == 0) return unknown;
    if (*step_ < 0) return backward(axis).value_or(unknown);
    const Dimension from = position(*start_), to = position(*end_);
    if (!from || !to) return unknown;
    algebra::Symbols& symbols = arguments_.symbols();
    const Poly count = symbols.max(symbols.floor_div(*to - *from + (*step_ - 1), *step_), 0);
    return {count, axis, number(from).value_or(0), number(from) ? *step_ : 0};
  }

 private:
  /// A position from 0 to the size.
  Dimension position(const Poly& requested) const {
    algebra::Symbols& symbols = arguments_.symbols();
    const auto constant = requested.constant();
    if (constant && *constant >= max_dimension) return size_;
    if (constant && *constant < 0) return symbols.max(*size_ + requested, 0);
    if (!symbols.is_nonnegative(requested)) return std::nullopt;
    for (const auto& [size, bound] : arguments_.context.upper_bounds) {
      if (requested == size && symbols.is_nonnegative(*size_ - bound)) return requested;
    }
    return symbols.min(requested, *size_);
  }

  std::optional<MovedAxis> backward(std::size_t axis) const {
    const auto size = number(size_), start = number(start_), end = number(end_);
    if (*step_ == -1 && start == -1 && end && *end <= -max_dimension)
      return MovedAxis{size_, axis, size.value_or(0) - 1, size ? -1 : 0};
    if (!size || !start || !end || *start < -*size || *end >= max_dimension) return std::nullopt;
    const std::int64_t from = std::min(*start < 0 ? *start + *size : *start, *size - 1);
    const std::int64_t to = std::clamp<std::int64_t>(*end < 0 ? *end + *size : *end, -1, *size - 1);
    return MovedAxis{Poly(from <= to ? 0 : (from - to - 1) / -*step_ + 1), axis, from, *step_};
  }

  const Arguments& arguments_;
  Dimension size_, start_, end_;
  std::optional<std::int64_t> step_;
};

}  // namespace

std::optional<Movement> identity(const Arguments& arguments, std::size_t) { return unchanged(arguments); }

std::optional<Movement> identity_of_one(const Arguments& arguments, std::size_t) {
  return arguments.node.input_size() == 1 ? std::optional(unchanged(arguments)) : std::nullopt;
}

std::optional<Movement> cast_to_same(const Arguments& arguments, std::size_t) {
  const int type = arguments.input(0).type;
  return type != 0 && arguments.cast_type() == type ? std::optional(unchanged(arguments)) : std::nullopt;
}

std::optional<Movement> empty_reduction(const Arguments& arguments, std::size_t) {
  const auto axes = arguments.list(1, "axes");
  const bool has_no_axes = !axes.is_given || (axes.values && axes.values->empty());
  if (arguments.integer("noop_with_empty_axes", 0) != 1 || !has_no_axes) return std::nullopt;
  return unchanged(arguments);
}

std::optional<Movement> concat_of_one(const Arguments& arguments, std::size_t output) {
  const bool has_axis = find_attribute(arguments.node, "axis") != nullptr && (!arguments.dims() || arguments.axis(0));
  return has_axis ? identity_of_one(arguments, output) : std::nullopt;
}

std::optional<Movement> empty_pad(const Arguments& arguments, std::size_t) {
  const auto pads = arguments.list(1, "pads"), axes = arguments.list(3);
  if (!pads.consists_of(0) || (axes.is_given && !axes.values)) return std::nullopt;
  const std::size_t padded = axes.is_given ? axes.values->size() : arguments.dims() ? arguments.dims()->size() : 0;
  const bool has_known_count = axes.is_given || arguments.dims();
  if (has_known_count && pads.values->size() != 2 * padded) return std::nullopt;
  return unchanged(arguments);
}

std::optional<Movement> reshape(const Arguments& arguments, std::size_t) {
  const auto requested = arguments.list(1, "shape").values;
  auto dims = requested ? ReshapeDims(arguments, *requested).run() : std::nullopt;
  return dims ? std::optional(reshaped(std::move(*dims))) : std::nullopt;
}

std::optional<Movement> flatten(const Arguments& arguments, std::size_t) {
  if (!arguments.dims()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(arguments.dims()->size());
  std::int64_t axis = arguments.integer("axis", 1);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis > rank) return std::nullopt;
  const std::span<const Dimension> dims(*arguments.dims());
  const auto rows = static_cast<std::size_t>(axis);
  return reshaped({product(dims.first(rows)), product(dims.subspan(rows))});
}

std::optional<Movement> squeeze(const Arguments& arguments, std::size_t) {
  const auto axes = arguments.list(1, "axes");
  const bool is_empty = axes.values && axes.values->empty();
  if (!arguments.dims() || (axes.is_given && !axes.numbers())) return std::nullopt;
  if (is_empty && arguments.has(1)) return std::nullopt;  // of an empty input ONNX and runtimes differ
  const bool removes_all = !axes.is_given || is_empty;
  const auto marked = removes_all ? std::nullopt : mark_axes(*axes.numbers(), arguments.dims()->size());
  if (!removes_all && !marked) return std::nullopt;
  Dimensions result;
  for (std::size_t d = 0; d < arguments.dims()->size(); ++d) {
    const Dimension& dim = (*arguments.dims())[d];
    if (!marked && !number(dim)) return std::nullopt;
    const bool is_removed = marked ? (*marked)[d] : *dim == Poly(1);
    if (is_removed && number(dim).value_or(1) != 1) return std::nullopt;
    if (!is_removed) result.push_back(dim);
  }
  return reshaped(std::move(result));
}

std::optional<Movement> unsqueeze(const Arguments& arguments, std::size_t) {
  const auto axes = arguments.list(1, "axes").numbers();
  if (!axes || !arguments.dims()) return std::nullopt;
  const auto marked = mark_axes(*axes, arguments.dims()->size() + axes->size());
  if (!marked) return std::nullopt;
  Dimensions result;
  for (std::size_t d = 0, from = 0; d < marked->size(); ++d)
    result.push_back((*marked)[d] ? Poly(1) : (*arguments.dims())[from++]);
  return reshaped(std::move(result));
}

/// Negative positions are no permutation in onnxruntime.
std::optional<Movement> transpose(const Arguments& arguments, std::size_t) {
  auto order = arguments.list(1, "perm").numbers();
  Dims in_order(order ? order->size() : 0);
  std::iota(in_order.begin(), in_order.end(), 0);
  const bool has_other_rank = order && arguments.dims() && order->size() != arguments.dims()->size();
  if (order == in_order && !in_order.empty() && !has_other_rank) return unchanged(arguments);
  if (!arguments.dims()) return std::nullopt;
  const std::size_t rank = arguments.dims()->size();
  if (!order) {
    order.emplace(rank);
    std::iota(order->rbegin(), order->rend(), 0);
  }
  const auto is_negative = [](std::int64_t axis) { return axis < 0; };
  if (order->size() != rank || !mark_axes(*order, rank) || std::ranges::any_of(*order, is_negative))
    return std::nullopt;
  std::vector<MovedAxis> axes;
  for (const std::int64_t from : *order) {
    const auto axis = static_cast<std::size_t>(from);
    axes.push_back({(*arguments.dims())[axis], axis});
  }
  return moved(std::move(axes));
}

std::optional<Movement> slice(const Arguments& arguments, std::size_t) {
  const auto starts = arguments.list(1, "starts").values, ends = arguments.list(2, "ends").values;
  const auto axes = arguments.list(3, "axes"), steps = arguments.list(4, "steps");
  const auto positions = axes.numbers();
  if (!starts || !ends || (axes.is_given && !positions)) {  // what is cut may be empty
    if (!arguments.dims()) return std::nullopt;
    std::vector<MovedAxis> result = axes_of(*arguments.dims());
    const auto named = positions && !positions->empty() ? mark_axes(*positions, result.size()) : std::nullopt;
    for (std::size_t d = 0; d < result.size(); ++d)
      if (!named || (*named)[d]) result[d] = {std::nullopt, d, 0, 0};
    return moved(std::move(result));
  }
  const std::size_t count = starts->size();
  Dims along(count);
  std::iota(along.begin(), along.end(), 0);
  along = positions.value_or(along);
  const Dimensions strides = steps.values.value_or(Dimensions(count, steps.is_given ? Dimension() : Poly(1)));
  if (ends->size() != count || along.size() != count || strides.size() != count) return std::nullopt;
  const auto part = [&](std::size_t i, Dimension size) {
    return SlicedAxis(arguments, std::move(size), (*starts)[i], (*ends)[i], strides[i]);
  };
  std::vector<std::size_t> entries(count);
  std::iota(entries.begin(), entries.end(), 0);
  if (arguments.dims() && !mark_axes(along, arguments.dims()->size())) return std::nullopt;
  if (std::ranges::all_of(entries, [&](std::size_t i) { return part(i, std::nullopt).is_whole(); }))
    return unchanged(arguments);
  if (!arguments.dims()) return std::nullopt;
  std::vector<MovedAxis> result = axes_of(*arguments.dims());
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = static_cast<std::size_t>(resolve_axis(along[i], result.size()));
    result[axis] = part(i, result[axis].size).of(axis);
  }
  return moved(std::move(result));
}

/// Without sizes the parts are equal; since opset 18 the last one may be smaller.
std::optional<Movement> split(const Arguments& arguments, std::size_t output) {
  const auto given = arguments.list(1, "split");
  const auto parts = static_cast<std::size_t>(arguments.node.output_size());
  const auto axis = arguments.axis(0);
  if (arguments.integer("num_outputs", arguments.node.output_size()) != arguments.node.output_size())
    return std::nullopt;
  if (parts == 1 && !given.is_given && (axis || !arguments.dims())) return unchanged(arguments);
  if (!axis || (given.is_given && (!given.values || given.values->size() != parts))) return std::nullopt;
  std::vector<MovedAxis> axes = axes_of(*arguments.dims());
  const Dimension whole = axes[*axis].size;
  Dimensions sizes(parts);
  if (given.is_given) {
    sizes = *given.values;
  } else if (whole) {
    const Poly count(static_cast<std::int64_t>(parts));
    sizes.assign(parts, arguments.symbols().floor_div(*whole + count - 1, count));
    sizes.back() = *whole - (count - 1) * *sizes[0];
    constexpr int opset_of_smaller_parts = 18;
    if (arguments.opset < opset_of_smaller_parts) sizes.assign(parts, arguments.symbols().floor_div(*whole, count));
  }
  Poly rest = whole.value_or(Poly(0));
  for (std::size_t i = 0; i < parts; ++i) {
    if (number(sizes[i]).value_or(0) < 0) return std::nullopt;
    if (i == output) axes[*axis].start = number(whole ? *whole - rest : Dimension()).value_or(0);
    rest -= sizes[i].value_or(Poly(0));
  }
  if (rest.constant().value_or(0) != 0 && to_numbers(sizes) && number(whole)) return std::nullopt;
  axes[*axis].size = sizes[output];
  return moved(std::move(axes));
}

std::optional<Movement> gather(const Arguments& arguments, std::size_t) {
  const auto axis = arguments.axis(0);
  if (!axis || !arguments.dims(1)) return std::nullopt;
  const Dimensions& indices = *arguments.dims(1);
  std::vector<MovedAxis> axes = axes_of(*arguments.dims());
  MovedAxis& along = axes[*axis];
  const auto size = number(along.size);
  auto positions = size ? arguments.list(1).numbers() : std::nullopt;
  if (positions) {
    for (std::int64_t& position : *positions) {
      if (position < -*size || position >= *size) return std::nullopt;
      position += position < 0 ? *size : 0;
    }
  }
  along = {product(indices), *axis, 0, 0, std::move(positions)};
  Movement movement = moved(std::move(axes));
  const auto at = movement.dims->begin() + static_cast<std::ptrdiff_t>(*axis);
  movement.dims->insert(movement.dims->erase(at), indices.begin(), indices.end());
  return movement;
}

std::optional<Movement> expand(const Arguments& arguments, std::size_t) {
  const auto requested = arguments.list(1, "shape").values;
  if (!requested || !arguments.dims()) return std::nullopt;
  const auto is_negative = [](const Dimension& dim) { return number(dim).value_or(0) < 0; };
  const auto dims = arguments.broadcast(*arguments.dims(), *requested);
  if (!dims || std::ranges::any_of(*requested, is_negative)) return std::nullopt;
  return repeat_elements(*arguments.dims(), *dims);
}

std::optional<Movement> tile(const Arguments& arguments, std::size_t) {
  auto repeats = arguments.list(1);
  if (!repeats.values && arguments.dims()) repeats.values.emplace(arguments.dims()->size());
  if (!repeats.values || (arguments.dims() && repeats.values->size() != arguments.dims()->size())) return std::nullopt;
  if (repeats.consists_of(1)) return unchanged(arguments);
  if (!arguments.dims()) return std::nullopt;
  std::vector<MovedAxis> axes = axes_of(*arguments.dims());
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const Dimension repeat = (*repeats.values)[d];
    if (number(repeat).value_or(0) < 0) return std::nullopt;
    if (repeat == Poly(1)) continue;
    if (const auto size = number(axes[d].size); size && *size <= max_tiled_size) {
      axes[d].positions.emplace(static_cast<std::size_t>(*size));
      std::iota(axes[d].positions->begin(), axes[d].positions->end(), 0);
    }
    axes[d].size = axes[d].size && repeat ? Dimension(*axes[d].size * *repeat) : std::nullopt;
    axes[d].step = 0;
  }
  return moved(std::move(axes));
}

}  // namespace rulemill::optimize::operators
