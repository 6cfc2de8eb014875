// Export of a term graph as an ONNX model: the original one with its nodes and initializers replaced. Those that remain
// are copied; inputs, outputs, metadata and documentation stay, and the opset unless the plan raises it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimize/model/fusion.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

/// An ONNX node to write.
struct ExportNode {
  NodeId root{};
  std::vector<ValueId> outputs;                // of the ONNX node
  std::optional<std::uint32_t> original;       // position of the original node, which is copied with new input names
  OnnxNodeSpec spec;                           // of a new node
  std::vector<std::optional<ValueId>> inputs;  // by ONNX input; nullopt if constant or absent
  std::map<std::string, ValueId> attributes;   // those with the value of a constant term
};

/// The ONNX nodes of the graph in topological order, or the reason why a node has no ONNX encoding. Constant
/// subexpressions have no node, because export folds them, unless keep_constants is set.
struct ExportPlan {
  std::vector<ExportNode> nodes;
  std::string error;
  bool keep_constants = false;
  int opset = 0;
};
ExportPlan plan_export(const ImportedModel& import, GraphBank& bank, Fusion& fusion, std::span<const ValueId> outputs,
                       int opset, bool keep_constants = false);

/// Returns the plan in the model's opset, or, if a node has an encoding only there, in its raised one (raised_opset.h).
ExportPlan plan_export(const OnnxModel& model, const ImportedModel& import, GraphBank& bank, Fusion& fusion,
                       std::span<const ValueId> outputs);

/// Writes the model of a plan; folds constants unless the plan keeps them. `names` receives those of its values. Throws
/// Error if the plan has an error, if folding would overflow finite weights, or if the result is malformed.
OnnxModel export_model(const OnnxModel& model, const ImportedModel& import, GraphBank& bank, ExportPlan plan,
                       std::span<const ValueId> outputs, std::unordered_map<ValueId, std::string>* names = nullptr);

}  // namespace rulemill::optimize
