// Random ONNX nodes that match a mapping, with their instance, sizes and shapes.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "algebra/library/library.h"
#include "optimize/onnx/mapping/mapping.h"

namespace rulemill::optimize {

struct RandomNode {
  const algebra::OperatorInstance* instance = nullptr;
  std::vector<std::vector<std::int64_t>> shapes;  // of the instance's inputs
  std::vector<std::int64_t> size_parameters;
  std::vector<std::vector<std::int64_t>> outputs;
  OnnxNodeSpec spec;
  int opset = 0;
};

/// Returns nullopt if the drawn values give no instance that types and has the mapping.
std::optional<RandomNode> random_node(algebra::Library& library, const algebra::GenericOnnxMapping& mapping,
                                      int max_opset, std::mt19937_64& random);

}  // namespace rulemill::optimize
