#include "optimize/onnx/types.h"

#include <onnx/shape_inference/implementation.h>

#include <algorithm>

#include "optimize/onnx/model_proto.h"

namespace rulemill::optimize {

namespace {

/// The model with inferred value infos; as it was where inference fails.
onnx::GraphProto inferred_graph(const onnx::ModelProto& model) {
  onnx::ModelProto copy = model;
  try {
    onnx::ShapeInferenceOptions options(false, 0, true);
    std::unordered_map<std::string, onnx::TensorShapeProto> propagated;
    onnx::shape_inference::InferShapes(copy, onnx::OpSchemaRegistry::Instance(), options, &propagated);
  } catch (const std::exception&) {
    return model.graph();
  }
  return copy.graph();
}

}  // namespace

OnnxTypes::OnnxTypes(const OnnxModel& model, algebra::Symbols& symbols) {
  onnx::GraphProto graph = inferred_graph(model.proto().model);
  auto add = [&](const onnx::ValueInfoProto& info) {
    const auto& type = info.type();
    if (!type.has_tensor_type() || type.tensor_type().elem_type() != onnx::TensorProto::FLOAT ||
        !type.tensor_type().has_shape()) {
      return;
    }
    algebra::Shape shape;
    for (int d = 0; d < type.tensor_type().shape().dim_size(); ++d) {
      const auto& dim = type.tensor_type().shape().dim(d);
      if (dim.has_dim_value()) {
        if (dim.dim_value() < 1) return;  // sizes are at least 1 in the algebra
        shape.emplace_back(dim.dim_value());
        continue;
      }
      bool named = dim.has_dim_param() && !dim.dim_param().empty();
      algebra::Atom size = symbols.size("$" + (named ? dim.dim_param() : info.name() + "#" + std::to_string(d)));
      if (std::ranges::find(sizes_, size) == sizes_.end()) sizes_.push_back(size);
      shape.emplace_back(size);
    }
    types_.emplace(info.name(), std::move(shape));
  };
  for (const auto& info : graph.input()) add(info);
  for (const auto& info : graph.value_info()) add(info);
  for (const auto& info : graph.output()) add(info);
}

ValueType OnnxTypes::type(const std::string& name) const {
  auto found = types_.find(name);
  return found == types_.end() ? std::nullopt : found->second;
}

}  // namespace rulemill::optimize
