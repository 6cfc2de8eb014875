// Stored constants that an operator without inputs computes, such as zeros: rules name it, models store the elements.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/equal/prover/constant_agreement.h"
#include "optimize/model/graph.h"

namespace rulemill::optimize {

/// Nodes of instances without inputs, with the elements of constants of one bank.
class ConstantOperators {
 public:
  /// Adds the nodes for all constants of the bank, so that rules are specialized for them. `instances`: of rules.
  /// Numbers and operators of any rank, such as a summand of zero or the root of two, may be in none, because
  /// statements can name them.
  ConstantOperators(GraphBank& bank, ConstantComparison& constants, const std::set<algebra::InstanceId>& instances);

  /// Returns the nodes whose elements, rounded, are the constant's, or differ within the bound of their errors. A
  /// scalar 1 may be `ones` and an identity matrix.
  const std::vector<NodeId>& nodes_of(ValueId constant);

 private:
  GraphBank& bank_;
  ConstantComparison& constants_;
  std::set<algebra::InstanceId> instances_;
  std::vector<std::string> of_any_rank_;  // operators
  std::unordered_map<ValueId, std::vector<NodeId>> nodes_;
};

}  // namespace rulemill::optimize
