// Resolution of an ONNX node: the operator instance and sizes that it encodes, determined by the operators' mappings,
// never by the operator's name. Undetermined values are searched: enum values of finite domains, integers of the node.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "optimize/model/graph.h"
#include "optimize/onnx/mapping/mapping.h"

namespace rulemill::optimize {

/// An ONNX node as operator instances: steps over the node's inputs.
struct LoweredNode {
  struct Reference {
    enum class Source : std::uint8_t { Input, Step, Literal };
    Source source = Source::Input;
    std::uint32_t number = 0;  // index of the ONNX input, step or literal
    std::uint32_t output = 0;  // of the step
  };
  struct Step {
    algebra::InstanceId instance{};
    std::vector<algebra::Poly> sizes;
    std::vector<Reference> arguments;
  };
  std::vector<Step> steps;       // empty if opaque
  std::vector<double> literals;  // attributes that are scalar arguments
  DataType literal_type = DataType::Float32;
  std::vector<Reference> outputs;  // of the node; each is an output of a step
  bool is_opaque() const { return steps.empty(); }
};

/// An ONNX node with its context.
struct NodeQuery {
  NodeDescription description;
  int opset = 0;
  std::vector<std::optional<ValueId>> inputs;  // nullopt if absent or integer
  std::vector<ValueType> outputs;              // by ONNX shape inference; dimensions may be symbolic
};

/// Returns the lowered node, or the reason why there is none.
std::variant<LoweredNode, std::string> resolve_node(const NodeQuery& query, GraphBank& bank);

}  // namespace rulemill::optimize
