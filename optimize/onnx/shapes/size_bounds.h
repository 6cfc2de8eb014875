// Bounds of dynamic dimensions. A model rarely runs at every size: a window, for example, needs as many elements as its
// length. Sizes for which a tensor would be empty, so that no definition applies, are excluded.
#pragma once

#include <optional>
#include <span>

#include "optimize/onnx/mapping/resolve_node.h"
#include "optimize/onnx/shapes/types.h"

namespace rulemill::optimize {

struct LowerBound {
  std::string size;
  std::int64_t value = 1;  // no definition applies to the node at a smaller size
};

struct UpperBound {
  std::string size;
  std::int64_t value = 1;  // a node's inputs are incompatible at a larger size
};

/// Returns a lower bound from a node that no definition covers at all sizes; nullopt if none covers it at any size that
/// was tried, or it holds for all sizes.
std::optional<LowerBound> find_lower_bound(const NodeQuery& query, std::span<const DynamicDim> dynamic_dims,
                                           GraphBank& bank);

}  // namespace rulemill::optimize
