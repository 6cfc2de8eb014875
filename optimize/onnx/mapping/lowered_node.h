// The operator instances that an ONNX node encodes.
#pragma once

#include <cstdint>
#include <vector>

#include "optimize/model/graph.h"

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
  bool replaces_node = false;      // export writes the steps, never the node
  bool is_opaque() const { return steps.empty(); }
};

}  // namespace rulemill::optimize
