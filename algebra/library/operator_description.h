// What the files of definitions say about an operator, for people: the text of its definition with the functions that
// it applies, its signature and its types.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "algebra/library/library.h"

namespace rulemill::algebra {

struct OperatorDescription {
  struct Tensor {
    std::string text, type;  // "x[d...]", "real"
  };
  struct Parameter {
    std::string text, meaning;  // "stride: int = 1", "an integer"
  };
  struct FunctionText {
    std::string name, place, definition;
  };
  std::string place;                    // file:line:column
  std::string signature;                // "gated(x[d...], y[d...])"
  std::string definition;               // the paragraph with the comment above it
  std::vector<Tensor> inputs, outputs;  // no outputs of a composite
  std::vector<Parameter> parameters;
  std::vector<std::string> onnx;   // mappings: "Gated {domain = \"my.domain\"}"
  std::vector<std::string> aten;   // "relu.default"
  std::vector<std::string> parts;  // operators that a composite calls, itself not included
  std::vector<FunctionText> functions;
};

/// Reads the file of the operator and those of its functions again. Throws InputError on an unknown operator.
OperatorDescription describe_operator(const Library& library, const std::string& name);

/// Returns the signatures of all operators by name.
std::map<std::string, std::string> operator_signatures(const Library& library);

}  // namespace rulemill::algebra
