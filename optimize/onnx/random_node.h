// A random ONNX node that a mapping says, with the instance, sizes and shapes that it stands for.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "algebra/library/library.h"
#include "optimize/onnx/mapping.h"

namespace rulemill::optimize {

struct RandomNode {
  const algebra::Instance* instance = nullptr;
  std::vector<std::vector<std::int64_t>> shapes;  // of the instance's inputs
  std::vector<std::int64_t> size_parameters;
  std::vector<std::vector<std::int64_t>> outputs;
  OnnxNodeText text;
  int opset = 0;
};

/// Nothing if these draws give no instance that types and has the mapping.
std::optional<RandomNode> random_node(algebra::Library& library, const algebra::OnnxForm& form, int newest_opset,
                                      std::mt19937_64& random);

}  // namespace rulemill::optimize
