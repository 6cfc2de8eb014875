#include "optimize/cost/operator_costs.h"

#include <algorithm>
#include <set>

namespace rulemill::optimize {
namespace {

double bytes_of(const Value& value) {
  double bytes = sizeof(float);
  if (!value.type) return 0;
  for (const algebra::Poly& dim : *value.type) bytes *= static_cast<double>(dim.constant().value_or(0));
  return bytes;
}

}  // namespace

std::vector<NodeId> encoded_nodes(const GraphBank& bank, NodeId root, std::span<const std::optional<ValueId>> inputs) {
  std::vector<NodeId> found, open{root};
  std::set<NodeId> seen{root};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    found.push_back(id);
    if (bank.node(id).kind == Node::Kind::Opaque) continue;
    for (const ValueId argument : bank.node(id).arguments) {
      const NodeId below = bank.value(argument).node;
      if (std::ranges::find(inputs, std::optional(argument)) == inputs.end() && seen.insert(below).second)
        open.push_back(below);
    }
  }
  return found;
}

CostRow& operator+=(CostRow& total, const CostRow& row) {
  total.count += row.count;
  total.seconds += row.seconds;
  total.weight_bytes += row.weight_bytes;
  return total;
}

std::map<std::string, CostRow> costs_by_operator(const GraphBank& bank, CostModel& cost, const ImportedModel& import,
                                                 const ExportPlan& plan, std::span<const ValueId> outputs) {
  std::map<std::string, CostRow> rows;
  std::set<ValueId> weights;
  auto costs = cost.node_costs(outputs);
  for (const ExportNode& unit : plan.nodes) {
    CostRow& row = rows[unit.original ? import.nodes[*unit.original].op_type : unit.spec.op_type];
    ++row.count;
    double seconds = 0;
    for (const NodeId id : encoded_nodes(bank, unit.root, unit.inputs)) {
      if (const auto found = costs.find(id); found != costs.end()) seconds += found->second;
    }
    row.seconds += seconds;
    for (const auto& input : unit.inputs) {
      if (input && bank.node_of(*input).constant && weights.insert(*input).second)
        row.weight_bytes += bytes_of(bank.value(*input));
    }
    if (!unit.original && unit.spec.activation) ++rows[*unit.spec.activation].count;
  }
  return rows;
}

}  // namespace rulemill::optimize
