// The clean-up of a model that every optimization begins with: what can be removed without a rule, a cost model or a
// benchmark. The outputs stay the same bit for bit in onnxruntime without its optimizations.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "optimize/onnx/format/model.h"
#include "optimize/onnx/shapes/inference.h"

namespace rulemill::optimize {

struct CleanResult {
  bool changed = false;
  /// Without Constant nodes; with the nodes of subgraphs.
  std::uint64_t nodes_before = 0, nodes_after = 0;
};

/// Cleans a model in place; if nothing is redundant, Constant nodes may still have become initializers, and numbers may
/// have lost their dimensions. Inputs, outputs, opsets and metadata stay, and values that remain keep their names.
/// Throws InputError if the model is inconsistent.
CleanResult clean_model(OnnxModel& model, NodeInference& inference);

/// Counts the nodes of the main graph by operator, without Constant nodes.
std::map<std::string, std::uint32_t> count_operators(const OnnxModel& model);

}  // namespace rulemill::optimize
