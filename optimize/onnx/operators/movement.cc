#include "optimize/onnx/operators/movement.h"

#include <algorithm>

#include "algebra/sizes/checked.h"

namespace rulemill::optimize {
namespace {

/// Returns for each axis the offsets in the input that its positions add.
std::vector<Dims> offsets_of(const Movement& movement, const Dims& input) {
  const Dims strides = row_major_strides(input);
  std::vector<Dims> offsets;
  for (const MovedAxis& axis : movement.axes) {
    Dims& along = offsets.emplace_back(static_cast<std::size_t>(*axis.size->constant()), 0);
    for (std::size_t i = 0; axis.from && i < along.size(); ++i) {
      const auto position = axis.positions ? axis.positions->at(i % axis.positions->size())
                                           : axis.start + static_cast<std::int64_t>(i) * axis.step;
      along[i] = position * strides[*axis.from];
    }
  }
  return offsets;
}

bool has_known_positions(const Movement& movement) {
  return std::ranges::all_of(movement.axes, [](const MovedAxis& axis) {
    return axis.size && axis.size->constant() && (!axis.from || axis.positions || axis.step != 0);
  });
}

}  // namespace

bool Movement::keeps_order(const std::optional<Dimensions>& input) const {
  if (kind != Kind::Axes) return true;
  if (!input || axes.size() != input->size()) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    // Positions of an axis in order, as many as it has, begin at the first.
    const auto& [size, from, start, step, positions] = axes[i];
    const bool is_in_order = positions ? std::ranges::is_sorted(*positions, std::less_equal()) : step == 1;
    if (!size || size != (*input)[i] || (size != algebra::Poly(1) && (from != i || !is_in_order))) return false;
  }
  return true;
}

Movement repeat_elements(const Dimensions& from, const Dimensions& to) {
  if (from == to) return {Movement::Kind::Identity, to};
  Movement movement{Movement::Kind::Axes, to};
  const std::size_t added = to.size() - from.size();
  for (std::size_t d = 0; d < to.size(); ++d) {
    const bool is_repeated = d < added || from[d - added] == algebra::Poly(1);
    movement.axes.push_back({to[d], is_repeated ? std::nullopt : std::optional(d - added)});
  }
  return movement;
}

KnownTensor move_elements(const KnownTensor& input, const Movement& movement, const EvaluationContext& context) {
  if (movement.kind == Movement::Kind::Identity) return input;
  KnownTensor result{input.type, movement.dims};
  const auto dims = to_numbers(movement.dims), before = to_numbers(input.dims);
  if (!dims || !before || !input.has_elements()) return result;
  if (movement.kind == Movement::Kind::Reshape) {
    if (element_count(*dims) != element_count(*before)) return result;
    KnownTensor reshaped = input;
    reshaped.dims = movement.dims;
    if (reshaped.numbers) reshaped.numbers->dims = *dims;
    return reshaped;
  }
  if (!has_known_positions(movement) || !is_small(*dims, input.type, context.max_bytes)) return result;
  ElementWriter writer;
  if (element_count(*dims) == 0) return std::move(writer).finish(input.type, *dims, context);
  visit_elements(offsets_of(movement, *before),
                 [&](std::int64_t first, std::int64_t count) { writer.append(input, first, count); });
  return std::move(writer).finish(input.type, *dims, context);
}

void ElementWriter::append(const KnownTensor& from, std::int64_t first, std::int64_t count) {
  const auto begin = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count);
  if (from.numbers) {
    const std::size_t width = from.numbers->width();
    bytes_.append(from.numbers->bytes.substr(begin * width, size * width));
  } else {
    const auto start = from.sizes->begin() + first;
    sizes_.insert(sizes_.end(), start, start + count);
  }
}

KnownTensor ElementWriter::finish(int type, const Dims& dims, const EvaluationContext& context) && {
  if (!sizes_.empty()) return make_known(type, dims, sizes_, context);
  return make_known(make_raw_tensor(type, dims, std::move(bytes_)));
}

bool unify_elements(std::span<KnownTensor> tensors) {
  if (std::ranges::all_of(tensors, [](const KnownTensor& each) { return each.numbers.has_value(); })) return true;
  for (KnownTensor& tensor : tensors) {
    tensor.sizes = to_sizes(tensor);
    if (!tensor.sizes) return false;
    tensor.numbers.reset();
  }
  return true;
}

bool is_small(const Dims& dims, int type, std::size_t max_bytes) {
  const auto count = element_count(dims);
  const std::size_t width = element_width(type);
  return count && width > 0 && static_cast<std::uint64_t>(*count) <= max_bytes / width;
}

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = algebra::checked_multiply(strides[d], dims[d]);
  return strides;
}

void visit_elements(const std::vector<Dims>& offsets,
                    const std::function<void(std::int64_t first, std::int64_t count)>& visit) {
  if (std::ranges::any_of(offsets, &Dims::empty)) return;
  if (offsets.empty()) return visit(0, 1);
  const Dims& last = offsets.back();
  bool is_run = true;
  for (std::size_t i = 1; i < last.size(); ++i) is_run = is_run && last[i] == last[i - 1] + 1;
  const auto count = static_cast<std::int64_t>(last.size());
  std::vector<std::size_t> index(offsets.size() - 1, 0);
  while (true) {
    std::int64_t base = 0;
    for (std::size_t d = 0; d < index.size(); ++d) base += offsets[d][index[d]];
    if (is_run) {
      visit(base + last[0], count);
    } else {
      for (const std::int64_t offset : last) visit(base + offset, 1);
    }
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == offsets[d - 1].size()) index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace rulemill::optimize
