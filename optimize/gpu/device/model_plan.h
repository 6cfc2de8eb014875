// A plan of a model file, with what is needed to run it.
#pragma once

#include <filesystem>
#include <memory>

#include "optimize/cost/input_shapes.h"
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
  /// Returns how far the outputs of a run are from the definitions, evaluated in double on the CPU: the largest
  /// difference of an element, relative to the largest element of its output. Infinite if an element is finite in one
  /// of the two only.
  double difference(const std::vector<std::vector<float>>& inputs,
                    const std::vector<std::vector<float>>& outputs) const;
};

/// Sizes of a model's dynamic dimensions: those that follow from the shapes, and one for all others.
struct DynamicSizes {
  InputShapes input_shapes;
  std::int64_t others = 1;
};

/// Plans a model at these sizes. Outputs of opaque nodes become inputs; without `layouts` all tensors are row-major.
/// Throws InputError, naming the model, and what given_sizes() throws.
ModelPlan plan_model(const std::filesystem::path& model, const std::filesystem::path& operators,
                     NodeInference& inference, const DynamicSizes& sizes, LayoutCosts* layouts = nullptr);

}  // namespace rulemill::optimize::gpu
