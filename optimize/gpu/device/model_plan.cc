#include "optimize/gpu/device/model_plan.h"

#include <cmath>
#include <unordered_map>

#include "optimize/gpu/device/costs.h"
#include "optimize/onnx/import.h"
#include "runtime/text/error.h"

namespace rulemill::optimize::gpu {
namespace {

constexpr float max_integer = 100;  // of integer inputs, which are mostly indices into tables

}  // namespace

std::vector<float> ModelPlan::constant(ValueId id) const {
  GraphEvaluator evaluator(*bank, sizes, [](ValueId) -> GraphEvaluator::TensorPtr {
    throw runtime::Error("gpu", "a constant depends on an input");
  });
  return to_floats(*evaluator.value(id));
}

std::vector<std::vector<float>> ModelPlan::random_inputs() const {
  std::vector<std::vector<float>> inputs = gpu::random_inputs(plan);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DataType data_type = bank->value(plan.inputs[i].value).type.data_type;
    for (float& value : inputs[i]) {
      if (data_type == DataType::Integer) value = std::floor(std::fabs(value) * max_integer);
      if (data_type == DataType::Bool) value = 1;
    }
  }
  return inputs;
}

double ModelPlan::difference(const std::vector<std::vector<float>>& inputs,
                             const std::vector<std::vector<float>>& outputs) const {
  std::unordered_map<ValueId, GraphEvaluator::TensorPtr> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& port = plan.inputs[i];
    given[port.value] = std::make_shared<const algebra::Tensor>(
        algebra::Tensor{plan.tensors[port.tensor].dims, {inputs[i].begin(), inputs[i].end()}});
  }
  GraphEvaluator evaluator(*bank, sizes, [&](ValueId id) {
    const auto found = given.find(id);  // what opaque nodes give to opaque nodes only is not an input
    return found == given.end() ? nullptr : found->second;
  });
  std::vector<ValueId> roots;
  for (const auto& port : plan.outputs) roots.push_back(port.value);
  double largest = 0;
  evaluator.run(roots, [&](std::size_t root, const GraphEvaluator::TensorPtr& expected) {
    double scale = 0, difference = 0;
    for (std::size_t e = 0; e < expected->values.size(); ++e) {
      const double left = expected->values[e], right = static_cast<double>(outputs[root][e]);
      if (std::isfinite(left) != std::isfinite(right)) difference = HUGE_VAL;
      if (!std::isfinite(left) || !std::isfinite(right)) continue;
      scale = std::max(scale, std::fabs(left));
      difference = std::max(difference, std::fabs(left - right));
    }
    largest = std::max(largest, difference == 0 ? 0 : difference / scale);
  });
  return largest;
}

ModelPlan plan_model(const std::filesystem::path& model, const std::filesystem::path& operators,
                     NodeInference& inference, const DynamicSizes& sizes, LayoutCosts* layouts) {
  ModelPlan result;
  result.library = std::make_unique<algebra::Library>(algebra::Library::load(operators));
  result.symbols = std::make_unique<algebra::Symbols>();
  result.bank = std::make_unique<GraphBank>(*result.library, *result.symbols);
  const OnnxModel file = OnnxModel::read(model);
  const ImportedModel import = import_model(file, *result.bank, &inference);
  result.sizes = given_sizes(sizes.input_shapes, import, *result.bank);
  for (const DynamicDim& size : import.dynamic_dims)
    result.sizes.try_emplace(size.atom, std::max<std::int64_t>(1, sizes.others - size.offset));
  try {
    result.plan =
        make_plan(*result.bank, import.outputs, result.sizes, KernelFusion::All, OpaqueNodes::AsInputs, layouts);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    throw runtime::InputError(model.string(), std::string("cannot be planned for a GPU: ") + error.what());
  }
  return result;
}

}  // namespace rulemill::optimize::gpu
