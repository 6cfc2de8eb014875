// Which operator instance, at which size parameters, an ONNX node says: read off the node as the operator's mapping has
// it, never by the operator's name. What a mapping does not say is tried: words of finite domains, integers of the
// node.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "optimize/graph.h"
#include "optimize/onnx/mapping.h"

namespace rulemill::optimize {

/// An ONNX node in the algebra's terms: steps over the node's inputs.
struct Recipe {
  struct Reference {
    enum class From : std::uint8_t { Input, Step, Literal };
    From from = From::Input;
    std::uint32_t number = 0;  // ONNX input, step, or literal
    std::uint32_t output = 0;  // of the step
  };
  struct Step {
    algebra::InstanceId instance{};
    std::vector<algebra::Poly> sizes;
    std::vector<Reference> arguments;
  };
  std::vector<Step> steps;       // empty: opaque
  std::vector<double> literals;  // attributes that are arguments without dimensions
  Element literal_element = Element::Float32;
  std::vector<Reference> outputs;  // of the node, each of a step
  bool opaque() const { return steps.empty(); }
};

/// An ONNX node with its surroundings.
struct OnnxQuestion {
  OnnxNodeFacts facts;
  int opset = 0;
  std::vector<std::optional<ValueId>> inputs;  // nothing where the algebra has no value (absent, integers)
  std::vector<ValueType> outputs;              // by ONNX's own shape inference; dimensions may be symbolic
};

/// The recipe, or why there is none.
std::variant<Recipe, std::string> solve(const OnnxQuestion& question, GraphBank& bank);

}  // namespace rulemill::optimize
