// A model's file as a plan, with what is needed to run it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "optimize/gpu/executor.h"
#include "optimize/onnx/inference.h"

namespace rulemill::optimize::gpu {

struct ModelPlan {
  std::unique_ptr<algebra::Library> library;
  std::unique_ptr<algebra::Symbols> symbols;
  std::unique_ptr<GraphBank> bank;
  Evaluator::Sizes sizes;
  Plan plan;

  std::vector<float> constant(ValueId id) const;
  /// Numbers for every input: small whole ones where the model says so.
  std::vector<std::vector<float>> some_inputs() const;
};

/// Every open size of the model is `open_size`; what nodes without definition give is given to the plan; without costs
/// of layouts all is row-major. Throws InputError, which names the model.
ModelPlan plan_of_model(const std::filesystem::path& model, const std::filesystem::path& operators,
                        NodeInference& inference, std::int64_t open_size, LayoutCosts* layouts = nullptr);

}  // namespace rulemill::optimize::gpu
