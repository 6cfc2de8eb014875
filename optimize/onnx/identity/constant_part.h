// The part of a model that nodes without definitions compute from constants alone, as a model that a runtime can run,
// and the model with the values of these nodes stored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimize/onnx/import.h"
#include "optimize/onnx/inputs/npz.h"

namespace rulemill::optimize {

struct ConstantPart {
  OnnxModel model;                  // without inputs
  std::vector<std::string> values;  // its outputs
};

/// `import` is the model imported. Opaque nodes of operators that may be random, have subgraphs or are not ONNX's own
/// are no part of it. Returns nullopt if no other opaque node reads only constants.
std::optional<ConstantPart> constant_part(const OnnxModel& model, const ImportedModel& import);

/// Replaces the nodes of the part's values by initializers.
void store_values(OnnxModel& model, const ConstantPart& part, const std::vector<InputTensor>& tensors);

}  // namespace rulemill::optimize
