// The costs of a graph by ONNX operator: the rows of the report's table.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optimize/cost/cost_model.h"
#include "optimize/onnx/export.h"

namespace rulemill::optimize {

/// The sums over all ONNX nodes of one operator.
struct CostRow {
  std::uint32_t count = 0;
  double seconds = 0;
  double weight_bytes = 0;  // of the constants that they read, each counted once
};
CostRow& operator+=(CostRow& total, const CostRow& row);

/// Returns the nodes that an ONNX node encodes: from its root down to its inputs.
std::vector<NodeId> encoded_nodes(const GraphBank& bank, NodeId root, std::span<const std::optional<ValueId>> inputs);

/// Returns costs by ONNX operator. `plan` is the export plan of the graph of `outputs`. The cost of an ONNX node is
/// that of the graph nodes that it encodes; activations that are fused into their producers are free.
std::map<std::string, CostRow> costs_by_operator(const GraphBank& bank, CostModel& cost, const ImportedModel& import,
                                                 const ExportPlan& plan, std::span<const ValueId> outputs);

}  // namespace rulemill::optimize
