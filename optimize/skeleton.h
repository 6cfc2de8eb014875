// What a graph looks like when every constant is no more than its type. Graphs of one model with equal skeletons cost
// the same and, constants apart, can be rewritten in the same ways: a search needs only one of them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "optimize/graph.h"

namespace rulemill::optimize {

class Skeletons {
 public:
  explicit Skeletons(const GraphBank& bank) : bank_(&bank) {}
  /// Equal for equal skeletons; different ones agree by chance with probability 2^-64 a pair.
  std::uint64_t of(std::span<const ValueId> outputs);

 private:
  std::uint64_t of(ValueId value) const;
  std::uint64_t compute(const Node& node) const;

  const GraphBank* bank_;
  std::unordered_map<NodeId, std::uint64_t> known_;
};

}  // namespace rulemill::optimize
