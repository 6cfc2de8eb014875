#include "optimize/onnx/format/dimensions.h"

namespace rulemill::optimize {

void for_each_dimension(onnx::TypeProto& type, const UseDimension& use) {
  if (type.has_sequence_type()) return for_each_dimension(*type.mutable_sequence_type()->mutable_elem_type(), use);
  if (type.has_optional_type()) return for_each_dimension(*type.mutable_optional_type()->mutable_elem_type(), use);
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return;
  for (auto& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) use(dim);
}

void for_each_dimension(onnx::GraphProto& graph, const UseDimension& use) {
  for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& info : *infos) {
      if (info.has_type()) for_each_dimension(*info.mutable_type(), use);
    }
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) for_each_dimension(node, use);
}

void for_each_dimension(onnx::NodeProto& node, const UseDimension& use) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) for_each_dimension(*attribute.mutable_g(), use);
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) for_each_dimension(graph, use);
  }
}

}  // namespace rulemill::optimize
