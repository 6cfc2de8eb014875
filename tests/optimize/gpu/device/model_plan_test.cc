#include "optimize/gpu/device/model_plan.h"

#include <catch2/catch.hpp>

#include <cmath>

namespace rulemill::optimize::gpu {
namespace {

TEST_CASE("outputs of a run are compared with the definitions", "[gpu]") {
  NodeInference inference({});
  const ModelPlan model = plan_model("data/models/lora_layer.onnx", "data/operators", inference, {});
  const auto inputs = model.random_inputs();
  std::vector<std::vector<float>> outputs;
  for (const auto& port : model.plan.outputs)
    outputs.emplace_back(static_cast<std::size_t>(model.plan.tensors[port.tensor].elements()));
  CHECK(model.difference(inputs, outputs) == 1);  // zeros miss all of the largest element
  outputs[0][3] = std::nanf("");
  CHECK(std::isinf(model.difference(inputs, outputs)));
}

TEST_CASE("dynamic dimensions have the sizes of given shapes, or all the same size", "[gpu]") {
  NodeInference inference({});
  CHECK_THROWS_WITH(plan_model("data/models/lora_layer.onnx", "data/operators", inference, {{{"missing", {1}}}}),
                    Catch::Contains("no float input 'missing'"));
}

}  // namespace
}  // namespace rulemill::optimize::gpu
