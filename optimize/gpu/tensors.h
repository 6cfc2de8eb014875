// A graph at known sizes as tensors, each with the definition of its element over those before it: nodes and their
// intermediate tensors are no longer told apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "optimize/evaluate.h"
#include "optimize/gpu/element.h"
#include "optimize/graph.h"

namespace rulemill::optimize::gpu {

/// What becomes of nodes that no definition is known of: an error, or their outputs are inputs of what is planned.
enum class Unknown : std::uint8_t { Refused, Given };

struct Tensors {
  struct Port {
    ValueId value{};
    std::uint32_t tensor = 0;
    bool unknown = false;  // the output of a node that no definition is known of
  };
  std::vector<std::vector<std::int64_t>> dims;  // by tensor
  std::vector<std::optional<Body>> bodies;      // by tensor; nothing for what is given
  std::vector<Port> inputs, constants, outputs;
};

/// Throws Error, which names the node, for one that no definition is known of, where these are refused.
Tensors tensors_of(const GraphBank& bank, std::span<const ValueId> outputs, const Evaluator::Sizes& sizes,
                   Unknown unknown);

/// Tensors that an element reads, each once, in order.
std::vector<std::uint32_t> reads_of(const Element& element);

/// Bodies that read another one element by element, which nobody else needs, take its definition in, where they stay
/// one step of a library or become one kernel.
void join_neighbours(Tensors& tensors, std::span<const algebra::Function> functions, algebra::Symbols& symbols);

}  // namespace rulemill::optimize::gpu
