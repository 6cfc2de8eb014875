#include "optimize/onnx/identity/constant_part.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/operators/node_arguments.h"
#include "optimize/onnx/operators/onnx_operators.h"
#include "optimize/onnx/operators/raw_tensor.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

using Names = std::unordered_set<std::string>;

/// The initializers that no caller of the model can set.
Names fixed_initializers(const onnx::GraphProto& graph) {
  Names names;
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& input : graph.input()) names.erase(input.name());
  return names;
}

/// The nodes that read only constants, by position, and those of them that no definition covers.
struct ConstantNodes {
  std::set<int> all, opaque;
};

ConstantNodes constant_nodes(const onnx::GraphProto& graph, const ImportedModel& import) {
  ConstantNodes nodes;
  Names constants = fixed_initializers(graph);
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    const ImportedModel::NodeRecord& record = import.nodes[static_cast<std::size_t>(i)];
    const bool reads_constants = std::ranges::all_of(
        node.input(), [&](const std::string& name) { return name.empty() || constants.contains(name); });
    if (!reads_constants || !is_repeatable(node)) continue;
    constants.insert(node.output().begin(), node.output().end());
    nodes.all.insert(i);
    if (record.lowered.is_opaque() && !record.elided && !record.is_constant()) nodes.opaque.insert(i);
  }
  return nodes;
}

/// The values that are read outside of `opaque`, or are outputs of the model.
Names values_read_outside(const onnx::GraphProto& graph, const std::set<int>& opaque) {
  Names read;
  for (const auto& output : graph.output()) read.insert(output.name());
  for (int i = 0; i < graph.node_size(); ++i) {
    if (opaque.contains(i)) continue;
    for (const std::string& name : read_names(graph.node(i))) read.insert(name);
  }
  return read;
}

bool is_any_of(const onnx::NodeProto& node, const Names& names) {
  return std::ranges::any_of(node.output(), [&](const auto& name) { return names.contains(name); });
}

/// Removes the elements of a repeated field that are not kept, in order.
template <class Field, class Keep>
void keep_if(Field& field, Keep keep) {
  field.erase(std::remove_if(field.begin(), field.end(), [&](const auto& element) { return !keep(element); }),
              field.end());
}

/// Leaves what `values` depend on, and makes them the outputs.
void restrict_to(onnx::GraphProto& graph, const std::vector<std::string>& values) {
  Names needed(values.begin(), values.end());
  for (int i = graph.node_size(); i-- > 0;) {
    if (!is_any_of(graph.node(i), needed)) continue;
    for (const std::string& name : graph.node(i).input()) needed.insert(name);
  }
  keep_if(*graph.mutable_node(), [&](const onnx::NodeProto& node) { return is_any_of(node, needed); });
  keep_if(*graph.mutable_initializer(),
          [&](const onnx::TensorProto& tensor) { return needed.contains(tensor.name()); });
  graph.clear_input();
  graph.clear_sparse_initializer();
  graph.clear_value_info();
  graph.clear_quantization_annotation();
  graph.clear_output();
  for (const std::string& name : values) graph.add_output()->set_name(name);
}

}  // namespace

std::optional<ConstantPart> constant_part(const OnnxModel& model, const ImportedModel& import) {
  constexpr int first_version_without_inputs = 4;  // of the format: initializers need not be inputs
  const onnx::ModelProto& proto = model.proto().model;
  if (proto.ir_version() < first_version_without_inputs) return std::nullopt;
  const ConstantNodes nodes = constant_nodes(proto.graph(), import);
  const Names read = values_read_outside(proto.graph(), nodes.opaque);
  std::vector<std::string> values;
  for (const int i : nodes.opaque) {
    const onnx::NodeProto& node = proto.graph().node(i);
    if (!is_any_of(node, read)) continue;
    std::ranges::copy_if(node.output(), std::back_inserter(values), [](const auto& name) { return !name.empty(); });
  }
  if (values.empty()) return std::nullopt;
  ConstantPart part{model, std::move(values)};
  restrict_to(*part.model.proto().model.mutable_graph(), part.values);
  return part;
}

void store_values(OnnxModel& model, const ConstantPart& part, const std::vector<InputTensor>& tensors) {
  RM_CHECK(tensors.size() == part.values.size(), "each value of the constant part must have a tensor");
  onnx::GraphProto& graph = *model.proto().model.mutable_graph();
  const Names stored(part.values.begin(), part.values.end());
  keep_if(*graph.mutable_node(), [&](const onnx::NodeProto& node) { return !is_any_of(node, stored); });
  for (std::size_t i = 0; i < tensors.size(); ++i)
    *graph.add_initializer() =
        to_proto(part.values[i], make_raw_tensor(tensors[i].onnx_type, tensors[i].shape, tensors[i].raw));
}

}  // namespace rulemill::optimize
