#include "optimize/onnx/format/captured_names.h"

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
      for (const auto& subgraph : attribute.graphs()) collect_free_names(subgraph, defined, free);
    }
    for (const auto& name : node.output()) defined.insert(name);
  }
  for (const auto& output : graph.output()) {
    if (!defined.contains(output.name())) free.insert(output.name());
  }
}

}  // namespace

std::set<std::string> free_names(const onnx::GraphProto& graph) {
  std::set<std::string> free;
  collect_free_names(graph, {}, free);
  return free;
}

std::set<std::string> captured_names(const onnx::NodeProto& node) {
  std::set<std::string> free;
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_free_names(attribute.g(), {}, free);
    for (const auto& subgraph : attribute.graphs()) collect_free_names(subgraph, {}, free);
  }
  return free;
}

}  // namespace rulemill::optimize
