// Shapes of inputs that the user sets where the model has dynamic dimensions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "optimize/model/evaluate.h"
#include "optimize/onnx/import.h"

namespace rulemill::optimize {

/// Dimensions by input name.
using InputShapes = std::map<std::string, std::vector<std::int64_t>>;

/// Parses "name:1x3x224x224". Throws UsageError.
std::pair<std::string, std::vector<std::int64_t>> parse_input_shape(const std::string& text);

/// Throws UsageError if the model lacks one of the inputs.
void require_inputs(const InputShapes& shapes, const OnnxModel& model);

/// Returns the sizes of the model's dynamic dimensions that follow from the shapes. Throws UsageError if they do not
/// fit the model.
GraphEvaluator::Sizes given_sizes(const InputShapes& shapes, const ImportedModel& import, const GraphBank& bank);

}  // namespace rulemill::optimize
