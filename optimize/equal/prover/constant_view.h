// A constant that is a part of another one in another order: what a model stores that joins, turns or cuts weights.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algebra/execution/reference.h"

namespace rulemill::optimize {

/// The other constant is reshaped to `dims`, a box is cut out of it, the box is reshaped to its dimensions above 1,
/// these are transposed, and the result is reshaped to the part's shape.
struct ConstantView {
  std::vector<std::int64_t> dims, begins, extents;
  std::vector<std::int64_t> perm;  // of the box's dimensions above 1
};

/// Returns how the elements of `part`, at least two, are found in `whole`. Only one such view is returned, and none if
/// many elements are equal. Elements are equal if they differ by a few roundoffs of float32.
std::optional<ConstantView> find_view(const algebra::Tensor& part, const algebra::Tensor& whole);

/// Returns whether the elements from `begin` on along an axis are those of `part`, of equal extent along the others.
bool has_block(const algebra::Tensor& whole, std::size_t axis, std::int64_t begin, const algebra::Tensor& part);

}  // namespace rulemill::optimize
