#include <algorithm>

#include "optimize/onnx/clean/passes.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

/// Removes the names of outputs that nothing reads.
bool drop_unused_outputs(onnx::NodeProto& node, const std::unordered_map<std::string, int>& readers) {
  if (!has_trait(node, optional_results)) return false;
  const bool is_recurrent = node.op_type() != "Dropout" && node.op_type() != "LayerNormalization";
  bool changed = false;
  for (int i = is_recurrent ? 0 : 1; i < node.output_size(); ++i) {
    if (node.output(i).empty() || readers.contains(node.output(i))) continue;
    node.set_output(i, "");
    changed = true;
  }
  while (node.output_size() > 1 && node.output(node.output_size() - 1).empty()) node.mutable_output()->RemoveLast();
  return changed;
}

/// Removes nodes from the last to the first, so that their inputs become unused, too.
bool remove_unused_nodes(CleanGraph& graph) {
  std::unordered_map<std::string, int> readers = graph.count_readers();
  bool changed = false;
  auto& nodes = *graph.proto().mutable_node();
  for (int i = nodes.size(); i-- > 0;) {
    onnx::NodeProto& node = nodes[i];
    const auto is_read = [&](const std::string& name) { return !name.empty() && readers.contains(name); };
    if (std::ranges::any_of(node.output(), is_read)) {
      if (graph.opset() >= first_clean_opset) changed = drop_unused_outputs(node, readers) || changed;
      continue;
    }
    for (const auto& name : read_names(node)) {
      if (--readers[name] == 0) readers.erase(name);
    }
    CleanGraph::erase(node);
    changed = true;
  }
  if (changed) graph.finish();
  return changed;
}

bool remove_unused_initializers(CleanGraph& graph) {
  const std::unordered_map<std::string, int> readers = graph.count_readers();
  auto& initializers = *graph.proto().mutable_initializer();
  const auto unused = std::remove_if(initializers.begin(), initializers.end(), [&](const auto& tensor) {
    return !readers.contains(tensor.name()) && !graph.is_input(tensor.name());
  });
  if (unused == initializers.end()) return false;
  initializers.erase(unused, initializers.end());
  graph.finish();
  return true;
}

}  // namespace

bool remove_unused(CleanGraph& graph) {
  const bool nodes = remove_unused_nodes(graph);
  return remove_unused_initializers(graph) || nodes;
}

}  // namespace rulemill::optimize
