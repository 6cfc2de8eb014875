#include "optimize/gpu/model_plan.h"

#include <cmath>

#include "optimize/gpu/costs.h"
#include "optimize/onnx/import.h"
#include "runtime/error.h"

namespace rulemill::optimize::gpu {

namespace {

constexpr float most_whole = 100;  // of integer inputs: what tables of words and places have

}  // namespace

std::vector<float> ModelPlan::constant(ValueId id) const {
  Evaluator evaluator(*bank, sizes, [](ValueId) -> Evaluator::TensorPtr {
    throw runtime::Error("gpu", "a constant depends on an input");
  });
  return floats(*evaluator.value(id));
}

std::vector<std::vector<float>> ModelPlan::some_inputs() const {
  std::vector<std::vector<float>> inputs;
  for (const auto& port : plan.inputs) {
    auto& values =
        inputs.emplace_back(some_numbers(static_cast<std::size_t>(plan.tensors[port.tensor].elements()), port.tensor));
    const optimize::Element element = bank->value(port.value).type.element;
    for (float& value : values) {
      if (element == optimize::Element::Integer) value = std::floor(std::fabs(value) * most_whole);
      if (element == optimize::Element::Truth) value = 1;
    }
  }
  return inputs;
}

ModelPlan plan_of_model(const std::filesystem::path& model, const std::filesystem::path& operators,
                        NodeInference& inference, std::int64_t open_size, LayoutCosts* layouts) {
  ModelPlan made;
  made.library = std::make_unique<algebra::Library>(algebra::Library::load(operators));
  made.symbols = std::make_unique<algebra::Symbols>();
  made.bank = std::make_unique<GraphBank>(*made.library, *made.symbols);
  const OnnxModel file = OnnxModel::read(model);
  const Import import = import_model(file, *made.bank, &inference);
  for (const OpenSize& size : import.sizes) made.sizes[size.atom] = std::max<std::int64_t>(1, open_size - size.above);
  try {
    made.plan = plan_of(*made.bank, import.outputs, made.sizes, Joining::All, Unknown::Given, layouts);
  } catch (const runtime::Interrupted&) {
    throw;
  } catch (const runtime::Error& error) {
    throw runtime::InputError(model.string(), std::string("cannot be planned for a GPU: ") + error.what());
  }
  return made;
}

}  // namespace rulemill::optimize::gpu
