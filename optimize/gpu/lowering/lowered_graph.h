// A graph at numeric sizes as tensor expressions over earlier tensors; intermediates of nodes are tensors like their
// outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optimize/gpu/lowering/tensor_expr.h"
#include "optimize/model/evaluate.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize::gpu {

/// Handling of opaque nodes: an error, or their outputs become inputs of the plan.
enum class OpaqueNodes : std::uint8_t { Rejected, AsInputs };

struct LoweredGraph {
  struct Port {
    ValueId value{};
    std::uint32_t tensor = 0;
    bool from_opaque = false;  // an output of an opaque node
  };
  std::vector<std::vector<std::int64_t>> dims;   // by tensor
  std::vector<std::optional<TensorExpr>> exprs;  // by tensor; nullopt for inputs and constants
  std::vector<Port> inputs, constants, outputs;
};

/// Lowers the graph of the outputs. Throws Error, naming the node, for an opaque node if they are rejected.
LoweredGraph lower_graph(const GraphBank& bank, std::span<const ValueId> outputs, const GraphEvaluator::Sizes& sizes,
                         OpaqueNodes opaque_nodes);

/// Returns the tensors that an expression reads, without duplicates, in order of first use.
std::vector<std::uint32_t> tensors_read(const ElementExpr& element);

}  // namespace rulemill::optimize::gpu
