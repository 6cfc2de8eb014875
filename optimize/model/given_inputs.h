// Values that the user gives for the inputs of a model, as the evaluator needs them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "optimize/model/evaluate.h"

namespace rulemill::optimize {

struct GivenInputs {
  std::string origin;                                                    // the file or folder
  GraphEvaluator::Sizes sizes;                                           // of the dynamic dimensions
  std::unordered_map<std::uint32_t, GraphEvaluator::TensorPtr> tensors;  // by number of the input in the bank
};

/// Adds the sizes at which the shape has these dimensions. Returns false if there are none.
bool add_sizes(GraphEvaluator::Sizes& sizes, const algebra::Shape& shape, std::span<const std::int64_t> dims);

}  // namespace rulemill::optimize
