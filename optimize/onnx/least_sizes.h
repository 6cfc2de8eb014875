// A model that leaves a size open rarely runs at every size: a window needs as many elements as it is long. Where a
// definition would fit a node but for sizes so small that a tensor would be empty, these are left out.
#pragma once

#include <optional>
#include <span>

#include "optimize/onnx/solve.h"
#include "optimize/onnx/types.h"

namespace rulemill::optimize {

struct TooSmall {
  std::string size;
  std::int64_t least = 1;  // at every smaller one no definition fits the node
};

struct TooLarge {
  std::string size;
  std::int64_t most = 1;  // at every larger one a node's inputs do not fit each other
};

/// Of a node that no definition fits for all sizes. Nothing where one fits at no size, or at all that were tried.
std::optional<TooSmall> too_small(const OnnxQuestion& question, std::span<const OpenSize> sizes, GraphBank& bank);

}  // namespace rulemill::optimize
