// A plan of a model file, with what is needed to run it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "optimize/gpu/device/plan_executor.h"
#include "optimize/onnx/shapes/inference.h"

namespace rulemill::optimize::gpu {

struct ModelPlan {
  std::unique_ptr<algebra::Library> library;
  std::unique_ptr<algebra::Symbols> symbols;
  std::unique_ptr<GraphBank> bank;
  GraphEvaluator::Sizes sizes;
  Plan plan;

  std::vector<float> constant(ValueId id) const;
  /// Returns random values for every input; small integers for integer inputs.
  std::vector<std::vector<float>> random_inputs() const;
};

/// Plans a model with every dynamic dimension set to `dynamic_size`. Outputs of opaque nodes become inputs; without
/// `layouts` all tensors are row-major. Throws InputError, naming the model.
ModelPlan plan_model(const std::filesystem::path& model, const std::filesystem::path& operators,
                     NodeInference& inference, std::int64_t dynamic_size, LayoutCosts* layouts = nullptr);

}  // namespace rulemill::optimize::gpu
