#include "optimize/cost/operator_costs.h"

#include <set>

namespace rulemill::optimize {

namespace {

double bytes_of(const Value& value) {
  double bytes = sizeof(float);
  if (!value.type) return 0;
  for (const algebra::Poly& dim : *value.type) bytes *= static_cast<double>(dim.constant().value_or(0));
  return bytes;
}

/// Returns the cost of the nodes that an ONNX node encodes: from its root down to its inputs.
double unit_seconds(const GraphBank& bank, const ExportNode& unit, const std::unordered_map<NodeId, double>& costs) {
  std::set<ValueId> inputs;
  for (const auto& input : unit.inputs) {
    if (input) inputs.insert(*input);
  }
  std::set<NodeId> seen{unit.root};
  std::vector<NodeId> open{unit.root};
  double seconds = 0;
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    if (auto cost = costs.find(id); cost != costs.end()) seconds += cost->second;
    if (bank.node(id).kind == Node::Kind::Opaque) continue;
    for (ValueId argument : bank.node(id).arguments) {
      NodeId below = bank.value(argument).node;
      if (!inputs.contains(argument) && seen.insert(below).second) open.push_back(below);
    }
  }
  return seconds;
}

}  // namespace

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
    row.seconds += unit_seconds(bank, unit, costs);
    for (const auto& input : unit.inputs) {
      if (input && bank.node_of(*input).constant && weights.insert(*input).second) {
        row.weight_bytes += bytes_of(bank.value(*input));
      }
    }
    if (!unit.original && unit.spec.activation) ++rows[*unit.spec.activation].count;
  }
  return rows;
}

}  // namespace rulemill::optimize
