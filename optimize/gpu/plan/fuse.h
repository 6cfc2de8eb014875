// Fusion of tensor expressions with their producers.
#pragma once

#include <span>

#include "algebra/operators/function.h"
#include "optimize/gpu/lowering/lowered_graph.h"

namespace rulemill::optimize::gpu {

/// Inlines the expression of a producer into its only consumer, if the result is still a library operation or is one
/// kernel that computes no element twice.
void fuse_producers(LoweredGraph& graph, std::span<const algebra::Function> functions, algebra::Symbols& symbols);

}  // namespace rulemill::optimize::gpu
