// Stored constants that an operator without inputs computes, such as zeros: rules name the operator, models store the
// elements.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// Nodes of instances without inputs, with the elements of constants of one bank.
class ConstantOperators {
 public:
  /// Adds the nodes for all constants of the bank, so that rules are specialized for them. Numbers may be
  /// instances that no rule has, such as a summand of zero or the root of two, because statements can name them.
  ConstantOperators(GraphBank& bank, ConstantComparison& constants, const std::set<algebra::InstanceId>& instances);

  /// Returns the nodes whose elements are the constant's, within one unit roundoff of the largest. A scalar 1 may be
  /// `ones` and an identity matrix.
  const std::vector<NodeId>& nodes_of(ValueId constant);

 private:
  std::optional<NodeId> apply(algebra::InstanceId instance, const ValueType& type);

  GraphBank& bank_;
  ConstantComparison& constants_;
  std::set<algebra::InstanceId> instances_;
  std::unordered_map<ValueId, std::vector<NodeId>> nodes_;
};

}  // namespace rulemill::optimize
