#include "optimize/gpu/device/model_plan.h"

#include <cmath>

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

ModelPlan plan_model(const std::filesystem::path& model, const std::filesystem::path& operators,
                     NodeInference& inference, std::int64_t dynamic_size, LayoutCosts* layouts) {
  ModelPlan result;
  result.library = std::make_unique<algebra::Library>(algebra::Library::load(operators));
  result.symbols = std::make_unique<algebra::Symbols>();
  result.bank = std::make_unique<GraphBank>(*result.library, *result.symbols);
  const OnnxModel file = OnnxModel::read(model);
  const ImportedModel import = import_model(file, *result.bank, &inference);
  for (const DynamicDim& size : import.dynamic_dims)
    result.sizes[size.atom] = std::max<std::int64_t>(1, dynamic_size - size.offset);
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
