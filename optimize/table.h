// Which ONNX operators a graph is written with, and what they cost: the rows of the before/after table.
#pragma once

#include <map>
#include <string>

#include "optimize/cost.h"
#include "optimize/onnx/export.h"

namespace rulemill::optimize {

/// All ONNX nodes of one operator.
struct CostRow {
  std::uint32_t count = 0;
  double seconds = 0;
  double weight_bytes = 0;  // constants that they read; one that several read counts once
};
CostRow& operator+=(CostRow& total, const CostRow& row);

/// By ONNX operator. `plan` says how the graph of `outputs` is written. A node's cost is that of its terms; an
/// activation that runs inside its producer costs nothing.
std::map<std::string, CostRow> cost_table(const GraphBank& bank, CostModel& cost, const Import& import,
                                          const ExportPlan& plan, std::span<const ValueId> outputs);

}  // namespace rulemill::optimize
