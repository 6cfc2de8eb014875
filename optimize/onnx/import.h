// An ONNX model as a graph of our terms. Nodes that an operator's mapping says become algebra nodes; all others stay
// opaque: their attributes are never looked at, and export writes them as they were.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/graph.h"
#include "optimize/onnx/inference.h"
#include "optimize/onnx/model.h"
#include "optimize/onnx/solve.h"
#include "optimize/onnx/types.h"

namespace rulemill::optimize {

struct Import {
  /// One node of the ONNX graph, by its position there.
  struct NodeRecord {
    std::string name, op_type;
    std::string reason;  // why it is opaque
    Recipe recipe;
    std::vector<std::optional<ValueId>> inputs;  // explicit ones; nothing where absent
    std::vector<ValueId> captured;               // values that the node's subgraphs use
    std::vector<std::string> captured_names;
    std::vector<ValueId> literals;  // by literal of the recipe
    std::vector<ValueId> outputs;   // of an algebra node
    NodeId node{};                  // its last
    bool dropped = false;           // its output is its input, by definition
    bool no_float = false;          // its outputs are integers or truth values: nothing that an operator could say
    bool is_constant() const { return reason == constant_reason; }
    static constexpr const char* constant_reason = "a constant";
  };
  std::vector<NodeRecord> nodes;
  std::vector<ValueId> inputs;  // the model's inputs that are not initializers
  std::vector<ValueId> outputs;
  std::unordered_map<std::string, ValueId> values;                // by ONNX name
  std::unordered_map<std::uint32_t, std::uint32_t> opaque_nodes;  // bank source → position
  std::vector<OpenSize> sizes;                                    // symbolic dimensions, in order of appearance
  SizeBounds bounds;                                              // of those sizes, where there are any
};

/// Of inputs, where they are known better than the model says it: a body's, by the graph around it.
using OuterTypes = std::map<std::string, ValueType>;

/// Imports into the bank. A model that was imported before and changed little shares its terms. Throws InputError where
/// the model contradicts itself. Without `inference` the ONNX library is not asked for types. Sizes are
/// taken for as large as the model needs them to run, and as `bounds` says.
Import import_model(const OnnxModel& model, GraphBank& bank, NodeInference* inference = nullptr, SizeBounds bounds = {},
                    const OuterTypes& outer_types = {});

}  // namespace rulemill::optimize
