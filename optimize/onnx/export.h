// A graph of our terms as an ONNX model: the model that it came from, with its nodes and initializers replaced. What
// survives is written as it was (names, attributes, initializers byte for byte); inputs, outputs, opset, metadata and
// documentation stay.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/fusion.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

/// One ONNX node to be written, and what it stands for.
struct ExportUnit {
  NodeId root{};
  std::vector<ValueId> outputs;                // of the ONNX node
  std::optional<std::uint32_t> original;       // position of the node that is written again, with new input names
  OnnxNodeText text;                           // otherwise
  std::vector<std::optional<ValueId>> inputs;  // by ONNX input; nothing where constant or absent
  std::map<std::string, ValueId> attributes;   // whose values are constants of the graph
};

/// The ONNX nodes of the graph in topological order, or why a node cannot be said in ONNX. What is computed from
/// constants has no unit: it will be a constant, unless the plan keeps such nodes.
struct ExportPlan {
  std::vector<ExportUnit> units;
  std::string refusal;
  bool keeps_constants = false;
};
ExportPlan plan_export(const Import& import, GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs,
                       int opset, bool keeps_constants = false);

/// The model that a plan describes, constants folded unless it keeps them. Throws Error if the plan is a refusal, if
/// folding would make infinity of finite weights, or if the result's structure is wrong.
OnnxModel export_model(const OnnxModel& model, const Import& import, GraphBank& bank, ExportPlan plan,
                       std::span<const ValueId> outputs);

}  // namespace rulemill::optimize
