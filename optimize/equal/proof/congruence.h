// Equality of the values of a bank that follows from given equalities: nodes that apply one operator to equal values
// are equal.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "optimize/model/graph.h"

namespace rulemill::optimize {

class Congruence {
 public:
  explicit Congruence(GraphBank& bank) : bank_(bank) {}

  /// Adds the nodes that the values depend on.
  void add(std::span<const ValueId> values);
  /// Makes two values of one type equal.
  void merge(ValueId a, ValueId b);
  /// Merges what follows. Afterwards a node that is applied to representatives has the representative of all that are
  /// equal to it, if one of these was added.
  void close();
  /// Returns the representative of the values that are equal to this one: the oldest.
  ValueId find(ValueId value) const;

 private:
  GraphBank& bank_;
  std::vector<NodeId> nodes_;
  std::unordered_set<NodeId> added_;
  std::unordered_map<ValueId, ValueId> parents_;  // older
};

}  // namespace rulemill::optimize
