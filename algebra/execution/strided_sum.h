// Sums of one read, or of the product of two, as strided loops: matrix products, convolutions and pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "algebra/execution/affine.h"
#include "algebra/execution/tracked.h"
#include "algebra/operators/expression.h"
#include "algebra/sizes/checked.h"

namespace rulemill::algebra {

struct TensorView {
  std::span<const double> values;
  std::vector<std::int64_t> dims;
  std::span<const double> errors;  // of the values; empty: they are exact
};

template <class Real>
Real element_at(const double* values, const double* errors, std::int64_t element) {
  if constexpr (std::is_same_v<Real, Tracked>)
    return {values[element], errors == nullptr ? 0 : errors[element]};
  else
    return static_cast<Real>(values[element]);
}

/// Σ over bound indices of one read, or of the product of two, as strided loops. Requires that every index of a read
/// uses at most one bound index, so that the points inside the tensors form a box.
template <class Real>
class StridedSum {
 public:
  /// `row_slot` is the output's last index.
  static std::optional<StridedSum> make(const ScalarExpr& sum, std::uint32_t row_slot,
                                        std::span<const std::int64_t> sizes, std::span<const TensorView> tensors) {
    if (sum.kind != ScalarExpr::Kind::Sum) return std::nullopt;
    std::vector<const ScalarExpr*> reads;
    if (sum.operands[0]->kind == ScalarExpr::Kind::Mul) {
      for (const ScalarExprPtr& operand : sum.operands[0]->operands) reads.push_back(operand.get());
    } else {
      reads.push_back(sum.operands[0].get());
    }
    if (reads.size() > 2 ||
        !std::ranges::all_of(reads, [](const ScalarExpr* read) { return read->kind == ScalarExpr::Kind::Read; }))
      return std::nullopt;
    StridedSum result(sizes, tensors);
    // The longest loop is innermost.
    std::vector<BoundIndex> bound = sum.bound;
    std::ranges::stable_sort(bound, {}, [&](const BoundIndex& index) { return evaluate(*index.extent, sizes, {}); });
    for (const BoundIndex& index : bound) {
      result.slots_.push_back(index.slot);
      result.extents_.push_back(evaluate(*index.extent, sizes, {}));
    }
    for (const ScalarExpr* read : reads) {
      if (!result.add_read(*read)) return std::nullopt;
    }
    result.find_row_steps(reads, row_slot);
    return result;
  }

  /// The points of one element's sum, and where its reads begin.
  struct Box {
    std::array<std::int64_t, 8> low{}, high{};
    std::array<std::int64_t, 2> start{};
  };

  /// Adds the boxes of `count` elements from `indices` on, which differ in their last index.
  void add_row(std::span<std::int64_t> indices, std::int64_t count, std::vector<Box>& boxes) const {
    for (std::uint32_t slot : slots_) indices[slot] = 0;
    Bases bases = bases_at(indices);
    boxes.push_back(box(bases));
    for (std::int64_t element = 1; element < count; ++element) {
      ++indices[row_slot_];
      if (row_steps_) {
        for (std::size_t r = 0; r < reads_.size(); ++r)
          for (std::size_t d = 0; d < reads_[r].axes.size(); ++d) bases[r][d] += (*row_steps_)[r][d];
      } else {
        bases = bases_at(indices);
      }
      boxes.push_back(box(bases));
    }
  }

  /// Sums elements in a row. Those over the same points, whose reads are at equal distances, are summed side by side;
  /// each sum is in the same order as alone.
  template <class Result>
  void values(std::span<const Box> boxes, Result* results) const {
    while (!boxes.empty()) {
      const std::size_t run = length_of_run(boxes);
      const std::size_t done = run == max_run ? max_run : run >= 8 ? 8 : run >= 4 ? 4 : 1;
      const std::array<std::int64_t, 2> distance = done > 1 ? distance_of(boxes[0], boxes[1]) : decltype(distance){};
      if (done == max_run)
        store<max_run>(boxes[0], distance, results);
      else if (done == 8)
        store<8>(boxes[0], distance, results);
      else if (done == 4)
        store<4>(boxes[0], distance, results);
      else
        store<1>(boxes[0], distance, results);
      boxes = boxes.subspan(done);
      results += done;
    }
  }

 private:
  using Sum = typename Accumulator<Real>::Type;
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::size_t max_run = 16;

  struct Axis {  // one dimension of a read: index = offset(outer) + step · loop
    AffineIndex offset;
    std::size_t loop = none;
    std::int64_t step = 0;
    std::int64_t dim = 0;
    std::int64_t stride = 0;
  };
  /// The indices of both reads where all loops are at 0.
  using Bases = std::array<std::array<std::int64_t, 8>, 2>;
  struct Read {
    const double *values = nullptr, *errors = nullptr;
    std::vector<Axis> axes;
    std::array<std::int64_t, 8> strides{};  // elements per step of each loop
  };

  Bases bases_at(std::span<const std::int64_t> indices) const {
    Bases bases{};
    for (std::size_t r = 0; r < reads_.size(); ++r)
      for (std::size_t d = 0; d < reads_[r].axes.size(); ++d)
        bases[r][d] = reads_[r].axes[d].offset.at(sizes_, indices);
    return bases;
  }

  Box box(const Bases& bases) const {
    Box box;
    std::copy(extents_.begin(), extents_.end(), box.high.begin());
    for (std::size_t r = 0; r < reads_.size(); ++r) {
      for (std::size_t d = 0; d < reads_[r].axes.size(); ++d) {
        const Axis& axis = reads_[r].axes[d];
        const std::int64_t base = bases[r][d];
        if (axis.loop == none) {
          if (base < 0 || base >= axis.dim) box.high.fill(0);
        } else {
          clip_range(base, axis, box.low[axis.loop], box.high[axis.loop]);
        }
        box.start[r] += base * axis.stride;
      }
    }
    return box;
  }

  StridedSum(std::span<const std::int64_t> sizes, std::span<const TensorView> tensors)
      : sizes_(sizes), tensors_(tensors) {}

  bool add_read(const ScalarExpr& expr) {
    const TensorView& tensor = tensors_[expr.tensor];
    if (slots_.size() > 8 || tensor.dims.size() > 8 || tensor.values.empty()) return false;
    Read read;
    read.values = tensor.values.data();
    read.errors = tensor.errors.data();
    std::int64_t stride = element_count(tensor.dims);
    for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
      stride /= tensor.dims[d];
      Axis axis;
      axis.offset = make_affine(expr.indices[d], sizes_);
      axis.dim = tensor.dims[d];
      axis.stride = stride;
      const auto steps = linear_coefficients(*expr.indices[d], sizes_, slots_);
      if (!steps) return false;
      for (std::size_t loop = 0; loop < steps->size(); ++loop) {
        if ((*steps)[loop] == 0) continue;
        if (axis.loop != none) return false;
        axis.loop = loop;
        axis.step = (*steps)[loop];
        read.strides[loop] += axis.step * stride;
      }
      read.axes.push_back(std::move(axis));
    }
    reads_.push_back(std::move(read));
    return true;
  }

  void find_row_steps(const std::vector<const ScalarExpr*>& reads, std::uint32_t row_slot) {
    row_slot_ = row_slot;
    row_steps_.emplace();
    for (std::size_t r = 0; r < reads.size(); ++r) {
      for (std::size_t d = 0; d < reads[r]->indices.size(); ++d) {
        const auto step = linear_coefficients(*reads[r]->indices[d], sizes_, std::span(&row_slot, 1));
        if (!step) return row_steps_.reset();
        (*row_steps_)[r][d] = (*step)[0];
      }
    }
  }

  /// 0 ≤ base + step · i < dim
  static void clip_range(std::int64_t base, const Axis& axis, std::int64_t& low, std::int64_t& high) {
    const std::int64_t first = base + axis.step * low, last = base + axis.step * (high - 1);
    if (std::min(first, last) >= 0 && std::max(first, last) < axis.dim) return;
    const auto ceil_div = [](std::int64_t a, std::int64_t b) { return -floor_quotient(-a, b); };
    if (axis.step > 0) {
      low = std::max(low, ceil_div(-base, axis.step));
      high = std::min(high, ceil_div(axis.dim - base, axis.step));
    } else {
      low = std::max(low, ceil_div(base - axis.dim + 1, -axis.step));
      high = std::min(high, ceil_div(base + 1, -axis.step));
    }
  }

  static std::array<std::int64_t, 2> distance_of(const Box& a, const Box& b) {
    return {b.start[0] - a.start[0], b.start[1] - a.start[1]};
  }

  /// At most max_run.
  std::size_t length_of_run(std::span<const Box> boxes) const {
    std::size_t length = 1;
    while (length < std::min(boxes.size(), max_run) && same_points(boxes[0], boxes[length]) &&
           distance_of(boxes[length - 1], boxes[length]) == distance_of(boxes[0], boxes[1]))
      ++length;
    return length;
  }

  bool same_points(const Box& a, const Box& b) const {
    for (std::size_t loop = 0; loop < extents_.size(); ++loop)
      if (a.low[loop] != b.low[loop] || a.high[loop] != b.high[loop]) return false;
    return true;
  }

  template <std::size_t N, class Result>
  void store(const Box& box, const std::array<std::int64_t, 2>& distance, Result* results) const {
    const std::array<Sum, N> sums = sum<N>(0, box, box.start, distance);
    std::ranges::copy(sums, results);
  }

  /// The sums of N elements over the loops from `loop` on.
  template <std::size_t N>
  std::array<Sum, N> sum(std::size_t loop, const Box& box, std::array<std::int64_t, 2> at,
                         const std::array<std::int64_t, 2>& distance) const {
    std::array<Sum, N> total{};
    if (box.low[loop] >= box.high[loop]) return total;
    for (std::size_t r = 0; r < reads_.size(); ++r) at[r] += box.low[loop] * reads_[r].strides[loop];
    if (loop + 1 == extents_.size()) return innermost<N>(box.high[loop] - box.low[loop], at, distance);
    for (std::int64_t i = box.low[loop]; i < box.high[loop]; ++i) {
      const std::array<Sum, N> inner = sum<N>(loop + 1, box, at, distance);
      for (std::size_t n = 0; n < N; ++n) total[n] += inner[n];
      for (std::size_t r = 0; r < reads_.size(); ++r) at[r] += reads_[r].strides[loop];
    }
    return total;
  }

  template <std::size_t N>
  std::array<Sum, N> innermost(std::int64_t steps, const std::array<std::int64_t, 2>& at,
                               const std::array<std::int64_t, 2>& distance) const {
    const auto lane_of = [&](std::size_t read, auto apart) {
      const double* const errors = reads_[read].errors == nullptr ? nullptr : reads_[read].errors + at[read];
      return Lane<decltype(apart)>{reads_[read].values + at[read], errors, last_stride(read), apart};
    };
    const auto left = [&](auto apart) { return lane_of(0, apart); };
    const auto right = [&](auto apart) { return lane_of(1, apart); };
    using Zero = std::integral_constant<std::int64_t, 0>;
    using One = std::integral_constant<std::int64_t, 1>;
    if (reads_.size() == 1) {
      std::array<Sum, N> total{};
      const auto lane = left(distance[0]);
      for (std::int64_t i = 0; i < steps; ++i)
        for (std::size_t n = 0; n < N; ++n) total[n] += lane.template at<Real>(i, n);
      return total;
    }
    // Distances that the compiler knows let it load and multiply several elements at once.
    if (distance == std::array<std::int64_t, 2>{0, 1}) return products<N>(steps, left(Zero()), right(One()));
    if (distance == std::array<std::int64_t, 2>{1, 0}) return products<N>(steps, left(One()), right(Zero()));
    return products<N>(steps, left(distance[0]), right(distance[1]));
  }

  /// The elements that N sums read of one tensor, in each step of the innermost loop.
  template <class Distance>
  struct Lane {
    const double *values, *errors;
    std::int64_t stride;
    Distance distance;

    template <class Value>
    Value at(std::int64_t step, std::size_t n) const {
      return element_at<Value>(values, errors, step * stride + static_cast<std::int64_t>(n) * distance);
    }
  };

  template <std::size_t N, class Left, class Right>
  static std::array<Sum, N> products(std::int64_t steps, const Left& left, const Right& right) {
    std::array<Sum, N> total{};
    for (std::int64_t i = 0; i < steps; ++i)
      for (std::size_t n = 0; n < N; ++n) total[n] += left.template at<Real>(i, n) * right.template at<Real>(i, n);
    return total;
  }

  std::int64_t last_stride(std::size_t read) const { return reads_[read].strides[extents_.size() - 1]; }

  std::span<const std::int64_t> sizes_;
  std::span<const TensorView> tensors_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::int64_t> extents_;
  std::vector<Read> reads_;
  std::uint32_t row_slot_ = 0;
  std::optional<Bases> row_steps_;  // by which the indices of reads change with the output's last one; none: unevenly
};

}  // namespace rulemill::algebra
