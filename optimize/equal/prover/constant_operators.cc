#include "optimize/equal/prover/constant_operators.h"

#include <algorithm>

#include "optimize/model/rounding.h"

namespace rulemill::optimize {

ConstantOperators::ConstantOperators(GraphBank& bank, ConstantComparison& constants,
                                     const std::set<algebra::InstanceId>& instances)
    : bank_(bank), constants_(constants), instances_(instances.begin(), instances.end()) {
  const auto stored = static_cast<std::uint32_t>(bank.node_count());
  for (std::uint32_t i = 0; i < stored; ++i) {
    if (bank.node(NodeId{i}).kind == Node::Kind::Constant) nodes_of(bank.node(NodeId{i}).outputs[0]);
  }
}

const std::vector<NodeId>& ConstantOperators::nodes_of(ValueId constant) {
  const auto [found, is_new] = nodes_.try_emplace(constant);
  const ValueType type = bank_.value(constant).type;  // a copy, because the bank grows
  if (!is_new || bank_.node_of(constant).kind != Node::Kind::Constant || !type || !is_float(type.data_type))
    return found->second;
  for (const algebra::InstanceId instance : instances_) {
    const auto node = apply(instance, type);
    const auto difference = node ? constants_.difference(bank_.node(*node).outputs[0], constant) : std::nullopt;
    if (difference && *difference <= unit_roundoff(type.data_type)) found->second.push_back(*node);
  }
  return found->second;
}

/// Returns the node of this type if the sizes of the instance are dimensions of its output.
std::optional<NodeId> ConstantOperators::apply(algebra::InstanceId instance, const ValueType& type) {
  const algebra::OperatorInstance& description = bank_.library().instance(instance);
  const std::vector<algebra::IndexExprPtr>& dims = description.outputs[0].dims;
  if (dims.size() != type->size()) return std::nullopt;
  std::vector<algebra::Poly> sizes;
  for (std::uint32_t slot = 0; slot < description.size_names.size(); ++slot) {
    const auto dim = std::ranges::find_if(dims, [&](const algebra::IndexExprPtr& expression) {
      return expression->kind == algebra::IndexExpr::Kind::Size && expression->slot == slot;
    });
    if (dim == dims.end()) return std::nullopt;
    sizes.push_back((*type)[static_cast<std::size_t>(dim - dims.begin())]);
  }
  return bank_.apply(instance, {}, sizes, type.data_type);
}

}  // namespace rulemill::optimize
