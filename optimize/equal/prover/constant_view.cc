#include "optimize/equal/prover/constant_view.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace rulemill::optimize {
namespace {

using Position = std::int64_t;

/// Places in the other constant that are tried for one element, and strides that fit some dimensions and not all.
constexpr std::size_t max_places = 8, max_tried = 64;

/// Elements of which the one that is least often in the other constant is looked for.
constexpr Position max_anchors = 32;

bool agree(double a, double b) {
  constexpr double few_roundoffs = 0x1p-21;
  return a == b || std::abs(a - b) <= few_roundoffs * std::max(std::abs(a), std::abs(b));
}

/// Strides that are tried, the usual ones first: others may fit, too, if many elements are equal.
enum class Strides : std::uint8_t { OfWhole, OfWholeInAnyOrder, Any };

/// A dimension of a box in row-major order: its stride, and its extent.
struct Axis {
  Position stride = 1;
  std::int64_t extent = 1;
  std::size_t dimension = 0;  // of the part; none if the extent is 1
};

std::vector<Axis> axes_of(const std::vector<std::int64_t>& shape) {
  std::vector<Axis> axes;
  Position stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    if (shape[d] > 1) axes.insert(axes.begin(), {stride, shape[d], d});
  }
  return axes;
}

class ViewSearch {
 public:
  ViewSearch(const algebra::Tensor& part, const algebra::Tensor& whole)
      : part_(part), whole_(whole), own_(axes_of(part.shape)), total_(static_cast<Position>(whole.values.size())) {}

  std::optional<ConstantView> run() {
    if (own_.empty() || part_.values.size() > whole_.values.size()) return std::nullopt;
    const std::vector<Position> places = choose_anchor();
    for (const Strides strides : {Strides::OfWhole, Strides::OfWholeInAnyOrder, Strides::Any}) {
      strides_ = strides;
      for (const Position place : places) {
        axes_.clear();
        if (!find_strides(place)) continue;
        if (auto found = view(place)) return found;
      }
    }
    return std::nullopt;
  }

 private:
  bool agree_at(Position own, Position place) const {
    return agree(part_.values[static_cast<std::size_t>(own)], whole_.values[static_cast<std::size_t>(place)]);
  }

  /// Chooses the element of the part that is least often in the other constant, and returns its places there.
  std::vector<Position> choose_anchor() {
    std::vector<Position> fewest;
    const auto count = static_cast<Position>(part_.values.size());
    for (Position sample = 0; sample < std::min(count, max_anchors); ++sample) {
      const Position own = count - 1 - sample * count / std::min(count, max_anchors);
      std::vector<Position> places;
      for (Position place = 0; place < total_ && places.size() <= max_places; ++place) {
        if (agree_at(own, place)) places.push_back(place);
      }
      if (places.empty()) return {};
      if (!fewest.empty() && places.size() >= fewest.size()) continue;
      fewest = std::move(places);
      anchor_ = own;
      if (fewest.size() == 1) break;
    }
    return fewest.size() > max_places ? std::vector<Position>() : fewest;
  }

  /// Finds a stride for each of the part's dimensions, one after the other. `place`: of the anchor.
  bool find_strides(Position place) {
    if (axes_.size() == own_.size()) return true;
    const Axis& own = own_[axes_.size()];
    const std::int64_t before = index_of_anchor(own), after = own.extent - 1 - before;
    const auto has_stride = [&](Position stride) {
      for (std::int64_t i = -before; i <= after; ++i) {
        const Position other = place + i * stride;
        if (other < 0 || other >= total_ || !agree_at(anchor_ + i * own.stride, other)) return false;
      }
      axes_.push_back({stride, own.extent, own.dimension});
      if (agree_so_far(0, anchor_, place) && find_strides(place)) return true;
      axes_.pop_back();
      ++tried_;
      return false;
    };
    if (strides_ != Strides::Any) {
      return std::ranges::any_of(axes_of(whole_.shape), [&](const Axis& axis) {
        const bool is_in_order = axes_.empty() || axis.stride < axes_.back().stride;
        const bool is_free = std::ranges::find(axes_, axis.stride, &Axis::stride) == axes_.end();
        return is_free && (is_in_order || strides_ == Strides::OfWholeInAnyOrder) && tried_ < max_tried &&
               has_stride(axis.stride);
      });
    }
    for (Position stride = 1; stride <= (total_ - 1) / (own.extent - 1) && tried_ < max_tried; ++stride) {
      if (has_stride(stride)) return true;
    }
    return false;
  }

  std::int64_t index_of_anchor(const Axis& own) const { return anchor_ / own.stride % own.extent; }

  /// Compares the elements along the dimensions whose strides are known, from dimension `axis` on.
  bool agree_so_far(std::size_t axis, Position own, Position place) const {
    if (axis == axes_.size()) return place >= 0 && place < total_ && agree_at(own, place);
    const std::int64_t anchor = index_of_anchor(own_[axis]);
    for (std::int64_t i = -anchor; i < own_[axis].extent - anchor; ++i) {
      if (!agree_so_far(axis + 1, own + i * own_[axis].stride, place + i * axes_[axis].stride)) return false;
    }
    return true;
  }

  /// The box, in dimensions as the other constant has them where that is possible.
  std::optional<ConstantView> view(Position place) {
    origin_ = place;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) origin_ -= index_of_anchor(own_[axis]) * axes_[axis].stride;
    std::vector<Axis> chain = axes_;
    std::ranges::sort(chain, std::greater(), &Axis::stride);
    for (const Axis& axis : axes_of(whole_.shape)) {
      std::vector<Axis> finer = chain;
      finer.insert(std::ranges::lower_bound(finer, axis.stride, std::greater(), &Axis::stride), {axis.stride, 1, 0});
      if (box(finer)) chain = std::move(finer);
    }
    auto result = box(chain);
    if (!result) return std::nullopt;
    std::erase_if(chain, [](const Axis& axis) { return axis.extent == 1; });
    for (const Axis& axis : own_) {
      const auto found = std::ranges::find(chain, axis.dimension, &Axis::dimension);
      result->perm.push_back(found - chain.begin());
    }
    return result;
  }

  /// Returns nullopt unless the strides are those of dimensions, and the box is inside of them.
  std::optional<ConstantView> box(const std::vector<Axis>& chain) const {
    ConstantView result;
    Position outer = total_, rest = origin_;
    for (std::size_t i = 0; i <= chain.size(); ++i) {
      const Axis axis = i < chain.size() ? chain[i] : Axis{};
      if (i == chain.size() && outer == 1) break;
      if (outer % axis.stride != 0 || outer == axis.stride) return std::nullopt;
      result.dims.push_back(outer / axis.stride);
      result.begins.push_back(rest / axis.stride);
      result.extents.push_back(axis.extent);
      if (result.begins.back() + axis.extent > result.dims.back()) return std::nullopt;
      rest %= axis.stride;
      outer = axis.stride;
    }
    return result;
  }

  const algebra::Tensor &part_, &whole_;
  const std::vector<Axis> own_;
  const Position total_;
  Position anchor_ = 0;  // in the part
  Position origin_ = 0;  // of the part in the other constant
  Strides strides_ = Strides::OfWhole;
  std::size_t tried_ = 0;
  std::vector<Axis> axes_;  // in the other constant
};

}  // namespace

std::optional<ConstantView> find_view(const algebra::Tensor& part, const algebra::Tensor& whole) {
  return ViewSearch(part, whole).run();
}

bool has_block(const algebra::Tensor& whole, std::size_t axis, std::int64_t begin, const algebra::Tensor& part) {
  std::int64_t inner = 1;  // elements of one position of the axis
  for (std::size_t d = axis + 1; d < whole.shape.size(); ++d) inner *= whole.shape[d];
  const std::int64_t row = part.shape[axis] * inner, stride = whole.shape[axis] * inner;
  if (begin + part.shape[axis] > whole.shape[axis]) return false;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(part.values.size()); ++i) {
    const std::int64_t place = i / row * stride + begin * inner + i % row;
    if (!agree(part.values[static_cast<std::size_t>(i)], whole.values[static_cast<std::size_t>(place)])) return false;
  }
  return true;
}

}  // namespace rulemill::optimize
