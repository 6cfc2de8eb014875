// Import of an ONNX model as a term graph. Nodes that match an operator's mapping become algebra nodes; all others are
// opaque: their attributes are ignored, and export copies them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/model/graph.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/mapping/resolve_node.h"
#include "optimize/onnx/operators/known_tensor.h"
#include "optimize/onnx/shapes/inference.h"
#include "optimize/onnx/shapes/types.h"

namespace rulemill::optimize {

struct ImportedModel {
  /// A node of the ONNX graph, by its position.
  struct NodeRecord {
    std::string name, op_type;
    std::string reason;  // why it is opaque
    LoweredNode lowered;
    std::vector<std::optional<ValueId>> inputs;  // explicit inputs; nullopt if absent
    std::vector<ValueId> captured;               // values that the node's subgraphs capture
    std::vector<std::string> captured_names;
    std::vector<ValueId> literals;  // by literal of `lowered`
    std::vector<ValueId> outputs;   // of a lowered node
    NodeId node{};                  // the last step
    bool elided = false;            // an identity: its output is its input
    bool non_float = false;         // all outputs are integers or Booleans, which no operator computes
    bool is_constant() const { return reason == constant_reason; }
    static constexpr const char* constant_reason = "a constant";
  };
  std::vector<NodeRecord> nodes;
  std::vector<ValueId> inputs;  // graph inputs that are not initializers
  std::vector<ValueId> outputs;
  std::unordered_map<std::string, ValueId> values;                // by ONNX name
  std::unordered_map<std::uint32_t, std::uint32_t> opaque_nodes;  // bank source → position
  std::vector<DynamicDim> dynamic_dims;                           // in order of appearance
  SizeBounds bounds;                                              // of the dynamic dimensions
  std::unordered_map<std::string, KnownTensor> known_values;      // by ONNX name; no elements of the model
  std::string invalid_node;                                       // of shapes/types.h
  std::uint32_t normalizations = 0;                               // nodes that may be read as parts
};

/// Types of inputs that are known more precisely than the model declares: those of a subgraph, from the outer graph.
using OuterTypes = std::map<std::string, ValueType>;

/// Imports into the bank. A model similar to an earlier one shares its terms. Without `inference` the ONNX library is
/// not used for types. Dynamic dimensions are assumed to be within `bounds` and large enough for every node. Throws
/// InputError if the model is inconsistent.
ImportedModel import_model(const OnnxModel& model, GraphBank& bank, NodeInference* inference = nullptr,
                           SizeBounds bounds = {}, const OuterTypes& outer_types = {},
                           Normalizations normalizations = Normalizations::Whole);

}  // namespace rulemill::optimize
