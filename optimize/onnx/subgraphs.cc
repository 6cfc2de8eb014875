#include "optimize/onnx/subgraphs.h"

#include <algorithm>

#include "optimize/onnx/captured_names.h"
#include "optimize/onnx/format/model.h"
#include "optimize/onnx/format/model_proto.h"

namespace rulemill::optimize {

namespace {

/// Returns a model with the subgraph as its graph, and the outer model's opsets and functions.
OnnxModel standalone_model(const OnnxModel::Proto& outer, const onnx::GraphProto& graph, const std::string& place) {
  OnnxModel result;
  OnnxModel::Proto& proto = result.proto();
  proto.model.set_ir_version(outer.model.ir_version());
  *proto.model.mutable_opset_import() = outer.model.opset_import();
  *proto.model.mutable_functions() = outer.model.functions();
  *proto.model.mutable_graph() = graph;
  proto.origin = outer.origin + ": " + place;
  proto.opset = outer.opset;
  proto.owners = outer.owners;
  proto.outer_names = outer.outer_names;
  collect_names(outer.model.graph(), proto.outer_names);
  return result;
}

/// Returns the initializer, unless it is also a graph input, which can be overridden at run time.
const onnx::TensorProto* find_weight(const OnnxModel::Proto& outer, const std::string& name) {
  const onnx::GraphProto& graph = outer.model.graph();
  if (std::ranges::find(graph.input(), name, &onnx::ValueInfoProto::name) != graph.input().end()) return nullptr;
  const auto found = std::ranges::find(graph.initializer(), name, &onnx::TensorProto::name);
  return found == graph.initializer().end() ? nullptr : &*found;
}

Subgraph make_subgraph(const OnnxModel::Proto& outer, const ImportedModel& import, const GraphBank& bank,
                       const onnx::NodeProto& node, const onnx::GraphProto& graph) {
  const std::string node_name = node.name().empty() ? node.op_type() : node.name();
  Subgraph subgraph;
  subgraph.model =
      standalone_model(outer, graph, "graph " + printable(graph.name()) + " of node " + printable(node_name));
  OnnxModel::Proto& proto = subgraph.model.proto();
  for (const std::string& name : free_names(graph)) {
    if (const onnx::TensorProto* weight = find_weight(outer, name)) {
      *proto.model.mutable_graph()->add_initializer() = *weight;
      if (const auto raw = outer.detached_data.find(name); raw != outer.detached_data.end())
        proto.detached_data.insert(*raw);
      subgraph.weights.insert(name);
    } else {
      proto.model.mutable_graph()->add_input()->set_name(name);
      subgraph.captured.emplace(name, bank.value(import.values.at(name)).type);
    }
  }
  return subgraph;
}

onnx::GraphProto& subgraph_proto(OnnxModel& model, const Subgraph& subgraph) {
  auto& node = *model.proto().model.mutable_graph()->mutable_node(static_cast<int>(subgraph.node));
  auto& attribute = *node.mutable_attribute(subgraph.attribute);
  return subgraph.graph < 0 ? *attribute.mutable_g() : *attribute.mutable_graphs(subgraph.graph);
}

template <typename Range, typename Predicate>
void erase_matching(Range& range, Predicate predicate) {
  range.erase(std::remove_if(range.begin(), range.end(), predicate), range.end());
}

}  // namespace

bool has_subgraphs(const OnnxModel& model) {
  return std::ranges::any_of(model.proto().model.graph().node(), [](const onnx::NodeProto& node) {
    return std::ranges::any_of(node.attribute(),
                               [](const auto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; });
  });
}

std::vector<Subgraph> subgraphs_of(const OnnxModel& model, const ImportedModel& import, const GraphBank& bank) {
  const OnnxModel::Proto& proto = model.proto();
  std::vector<Subgraph> subgraphs;
  for (int n = 0; n < proto.model.graph().node_size(); ++n) {
    const onnx::NodeProto& node = proto.model.graph().node(n);
    auto add = [&](int attribute, int graph, const onnx::GraphProto& inner) {
      if (inner.output_size() == 0) return;
      Subgraph subgraph = make_subgraph(proto, import, bank, node, inner);
      subgraph.node = static_cast<std::uint32_t>(n);
      subgraph.attribute = attribute;
      subgraph.graph = graph;
      subgraphs.push_back(std::move(subgraph));
    };
    for (int a = 0; a < node.attribute_size(); ++a) {
      if (node.attribute(a).has_g()) add(a, -1, node.attribute(a).g());
      for (int g = 0; g < node.attribute(a).graphs_size(); ++g) add(a, g, node.attribute(a).graphs(g));
    }
  }
  return subgraphs;
}

void replace_subgraph(OnnxModel& model, const Subgraph& subgraph, const OnnxModel& optimized) {
  onnx::GraphProto graph = optimized.proto().model.graph();
  erase_matching(*graph.mutable_input(), [&](const auto& input) { return subgraph.captured.contains(input.name()); });
  erase_matching(*graph.mutable_initializer(),
                 [&](const auto& tensor) { return subgraph.weights.contains(tensor.name()); });
  subgraph_proto(model, subgraph) = std::move(graph);
  for (const std::string& domain : optimized.domains()) model.require_domain(domain);
}

}  // namespace rulemill::optimize
