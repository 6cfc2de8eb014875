// Which operator instance, at which size parameters, an ONNX node says: found by trying parameter values, never by the
// operator's name. Finite parameter domains are enumerated; integers are looked for among those in the node itself.
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
    bool is_input = true;      // of the ONNX node, or an output of an earlier step
    std::uint32_t number = 0;  // input or step
    std::uint32_t output = 0;  // of the step
  };
  struct Step {
    algebra::InstanceId instance{};
    std::vector<algebra::Poly> sizes;
    std::vector<Reference> arguments;
  };
  std::vector<Step> steps;  // the last one gives the node's outputs; empty: opaque
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
