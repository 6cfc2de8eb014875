#include "optimize/onnx/subgraphs.h"

#include <algorithm>

#include "optimize/onnx/format/captured_names.h"
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

/// Returns the initializer, unless it is an input, which can be overridden at run time; or a Constant node's tensor.
const onnx::TensorProto* find_weight(const OnnxModel::Proto& outer, const std::string& name) {
  const onnx::GraphProto& graph = outer.model.graph();
  if (std::ranges::find(graph.input(), name, &onnx::ValueInfoProto::name) != graph.input().end()) return nullptr;
  const auto found = std::ranges::find(graph.initializer(), name, &onnx::TensorProto::name);
  if (found != graph.initializer().end()) return &*found;
  const auto constant = std::ranges::find_if(graph.node(), [&](const onnx::NodeProto& node) {
    return node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1 && node.output(0) == name &&
           node.attribute_size() == 1 && node.attribute(0).has_t();
  });
  return constant == graph.node().end() ? nullptr : &constant->attribute(0).t();
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
      onnx::TensorProto& added = *proto.model.mutable_graph()->add_initializer();
      added = *weight;
      added.set_name(name);
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

std::vector<Subgraph> subgraphs_of(const OnnxModel& model, const ImportedModel& import, const GraphBank& bank,
                                   std::optional<std::uint32_t> position) {
  const OnnxModel::Proto& proto = model.proto();
  std::vector<Subgraph> subgraphs;
  for (int n = 0; n < proto.model.graph().node_size(); ++n) {
    if (position.value_or(n) != static_cast<std::uint32_t>(n)) continue;
    const onnx::NodeProto& node = proto.model.graph().node(n);
    auto add = [&](int attribute, int graph, const onnx::GraphProto& inner) {
      if (inner.output_size() == 0) return;
      Subgraph subgraph = make_subgraph(proto, import, bank, node, inner);
      subgraph.node = static_cast<std::uint32_t>(n);
      subgraph.attribute = attribute;
      subgraph.name = node.attribute(attribute).name();
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

bool rename_interface(OnnxModel& model, const std::map<std::string, std::string>& captured, const std::string& scope) {
  onnx::GraphProto& graph = *model.proto().model.mutable_graph();
  std::set<std::string> names = model.proto().outer_names, added;
  collect_names(graph, names);
  onnx::GraphProto renamed;
  const auto add_copy = [&](const std::string& from, const std::string& to) {
    onnx::NodeProto& node = *renamed.add_node();
    node.set_op_type("Identity");
    node.add_input(from);
    node.add_output(to);
  };
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const auto outside = captured.find(input.name());
    const std::string name = outside == captured.end() ? scope + "input " + std::to_string(renamed.input_size())
                                                       : "captured " + outside->second;
    add_copy(name, input.name());
    if (!added.insert(name).second) continue;
    *renamed.add_input() = input;
    renamed.mutable_input(renamed.input_size() - 1)->set_name(name);
  }
  renamed.mutable_node()->MergeFrom(graph.node());
  for (const onnx::ValueInfoProto& output : graph.output()) {
    const std::string name = scope + "output " + std::to_string(renamed.output_size());
    add_copy(output.name(), name);
    added.insert(name);
    renamed.add_output()->set_name(name);
  }
  graph.mutable_node()->Swap(renamed.mutable_node());
  graph.mutable_input()->Swap(renamed.mutable_input());
  graph.mutable_output()->Swap(renamed.mutable_output());
  return std::ranges::none_of(added, [&](const std::string& name) { return names.contains(name); });
}

bool unify_interfaces(Subgraph& before, Subgraph& after, const std::map<std::string, std::string> (&captured)[2],
                      const std::string& scope) {
  onnx::GraphProto* graphs[] = {before.model.proto().model.mutable_graph(), after.model.proto().model.mutable_graph()};
  // Captured values come last.
  const std::size_t inputs = static_cast<std::size_t>(graphs[0]->input_size()) - before.captured.size();
  if (inputs != static_cast<std::size_t>(graphs[1]->input_size()) - after.captured.size()) return false;
  if (graphs[0]->output_size() != graphs[1]->output_size()) return false;
  for (int i = 0; i < static_cast<int>(inputs); ++i) {
    for (const std::size_t side : {0, 1}) {
      onnx::TypeProto& type = *graphs[side]->mutable_input(i)->mutable_type();
      const onnx::TypeProto& other = graphs[1 - side]->input(i).type();
      const bool is_less_precise =
          type.tensor_type().elem_type() == other.tensor_type().elem_type() && !type.tensor_type().has_shape();
      if (other.has_tensor_type() && (!type.has_tensor_type() || is_less_precise)) type = other;
    }
  }
  return rename_interface(before.model, captured[0], scope) && rename_interface(after.model, captured[1], scope);
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
