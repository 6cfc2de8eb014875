// The fraction of a model that the operator definitions cover, which is what an optimizer can rewrite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimize/cost/operator_costs.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

/// Sums over nodes without constants. The arithmetic of opaque nodes is estimated: two operations for each weight and
/// position, and one for each output element.
struct Share {
  std::uint64_t nodes = 0;
  double flops = 0, weight_bytes = 0;
};

struct Coverage {
  struct Row {
    std::string op_type, reason;  // empty for covered nodes
    Share share;
  };
  std::vector<Row> rows;  // most nodes first
  Share covered, all;
};

Coverage coverage_of(const ImportedModel& import, GraphBank& bank);

}  // namespace rulemill::optimize
