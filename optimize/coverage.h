// What a model consists of, and how much of it the definitions understand: what an optimizer can reach at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optimize/cost.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

/// Of nodes (constants left out), of arithmetic and of weights. Arithmetic of opaque nodes is estimated: two operations
/// for each weight and position, one for each output element.
struct Share {
  std::uint64_t nodes = 0;
  double flops = 0, weight_bytes = 0;
};

struct Coverage {
  struct Row {
    std::string op_type, reason;  // of nodes that are understood, the reason is empty
    Share share;
  };
  std::vector<Row> rows;  // most nodes first
  Share understood, all;
};

Coverage coverage_of(const Import& import, GraphBank& bank, const Evaluator::Sizes& sizes);

}  // namespace rulemill::optimize
