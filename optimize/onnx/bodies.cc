#include "optimize/onnx/bodies.h"

#include <algorithm>

#include "optimize/onnx/model_proto.h"

namespace rulemill::optimize {

namespace {

void collect_free_names(const onnx::GraphProto& graph, std::set<std::string> defined, std::set<std::string>& free) {
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node()) {
    for (const auto& name : node.input()) {
      if (!name.empty() && !defined.contains(name)) free.insert(name);
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_free_names(attribute.g(), defined, free);
      for (const auto& body : attribute.graphs()) collect_free_names(body, defined, free);
    }
    for (const auto& name : node.output()) defined.insert(name);
  }
  for (const auto& output : graph.output()) {
    if (!defined.contains(output.name())) free.insert(output.name());
  }
}

/// The outer model without its nodes, with the body as its graph.
OnnxModel shell_of(const OnnxModel::Proto& outer, const onnx::GraphProto& graph, const std::string& place) {
  OnnxModel made;
  OnnxModel::Proto& proto = made.proto();
  proto.model.set_ir_version(outer.model.ir_version());
  *proto.model.mutable_opset_import() = outer.model.opset_import();
  *proto.model.mutable_functions() = outer.model.functions();
  *proto.model.mutable_graph() = graph;
  proto.origin = outer.origin + ": " + place;
  proto.opset = outer.opset;
  proto.owners = outer.owners;
  proto.taken_names = outer.taken_names;
  collect_names(outer.model.graph(), proto.taken_names);
  return made;
}

/// Where weights may be shared: those that no one can replace when the model runs.
const onnx::TensorProto* weight_named(const OnnxModel::Proto& outer, const std::string& name) {
  const onnx::GraphProto& graph = outer.model.graph();
  if (std::ranges::find(graph.input(), name, &onnx::ValueInfoProto::name) != graph.input().end()) return nullptr;
  const auto found = std::ranges::find(graph.initializer(), name, &onnx::TensorProto::name);
  return found == graph.initializer().end() ? nullptr : &*found;
}

Body body_of(const OnnxModel::Proto& outer, const Import& import, const GraphBank& bank, const onnx::NodeProto& node,
             const onnx::GraphProto& graph) {
  const std::string called = node.name().empty() ? node.op_type() : node.name();
  Body body;
  body.model = shell_of(outer, graph, "graph " + shown(graph.name()) + " of node " + shown(called));
  OnnxModel::Proto& proto = body.model.proto();
  std::set<std::string> free;
  collect_free_names(graph, {}, free);
  for (const std::string& name : free) {
    if (const onnx::TensorProto* weight = weight_named(outer, name)) {
      *proto.model.mutable_graph()->add_initializer() = *weight;
      if (const auto raw = outer.elsewhere.find(name); raw != outer.elsewhere.end()) proto.elsewhere.insert(*raw);
      body.weights.insert(name);
    } else {
      proto.model.mutable_graph()->add_input()->set_name(name);
      body.captured.emplace(name, bank.value(import.values.at(name)).type);
    }
  }
  return body;
}

onnx::GraphProto& graph_at(OnnxModel& model, const Body& body) {
  auto& node = *model.proto().model.mutable_graph()->mutable_node(static_cast<int>(body.node));
  auto& attribute = *node.mutable_attribute(body.attribute);
  return body.graph < 0 ? *attribute.mutable_g() : *attribute.mutable_graphs(body.graph);
}

template <typename Range, typename Test>
void drop(Range& range, Test test) {
  range.erase(std::remove_if(range.begin(), range.end(), test), range.end());
}

}  // namespace

std::set<std::string> captured_names(const onnx::NodeProto& node) {
  std::set<std::string> free;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_free_names(attribute.g(), {}, free);
    for (const auto& body : attribute.graphs()) collect_free_names(body, {}, free);
  }
  return free;
}

bool has_bodies(const OnnxModel& model) {
  return std::ranges::any_of(model.proto().model.graph().node(), [](const onnx::NodeProto& node) {
    return std::ranges::any_of(node.attribute(),
                               [](const auto& said) { return said.has_g() || said.graphs_size() > 0; });
  });
}

std::vector<Body> bodies_of(const OnnxModel& model, const Import& import, const GraphBank& bank) {
  const OnnxModel::Proto& proto = model.proto();
  std::vector<Body> bodies;
  for (int n = 0; n < proto.model.graph().node_size(); ++n) {
    const onnx::NodeProto& node = proto.model.graph().node(n);
    auto add = [&](int attribute, int graph, const onnx::GraphProto& inner) {
      if (inner.output_size() == 0) return;
      Body body = body_of(proto, import, bank, node, inner);
      body.node = static_cast<std::uint32_t>(n);
      body.attribute = attribute;
      body.graph = graph;
      bodies.push_back(std::move(body));
    };
    for (int a = 0; a < node.attribute_size(); ++a) {
      if (node.attribute(a).has_g()) add(a, -1, node.attribute(a).g());
      for (int g = 0; g < node.attribute(a).graphs_size(); ++g) add(a, g, node.attribute(a).graphs(g));
    }
  }
  return bodies;
}

void put_back(OnnxModel& model, const Body& body, const OnnxModel& better) {
  onnx::GraphProto graph = better.proto().model.graph();
  drop(*graph.mutable_input(), [&](const auto& input) { return body.captured.contains(input.name()); });
  drop(*graph.mutable_initializer(), [&](const auto& tensor) { return body.weights.contains(tensor.name()); });
  graph_at(model, body) = std::move(graph);
}

}  // namespace rulemill::optimize
