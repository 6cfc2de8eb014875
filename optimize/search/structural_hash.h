// Structural hashes of graphs, in which a constant counts by its type only. Graphs of one model with equal hashes cost
// the same and have the same rewrites up to constants, so that a search needs only one of them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

class StructuralHasher {
 public:
  explicit StructuralHasher(const GraphBank& bank) : bank_(&bank) {}
  /// Returns a hash of the graph. Hashes of different graphs collide with probability 2^-64.
  std::uint64_t hash(std::span<const ValueId> outputs);

 private:
  std::uint64_t hash(ValueId value) const;
  std::uint64_t compute(const Node& node) const;

  const GraphBank* bank_;
  std::unordered_map<NodeId, std::uint64_t> known_;
};

}  // namespace rulemill::optimize
