#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "optimize/onnx/clean/passes.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

/// Elementwise nodes between a reshape and the reshapes of all that they compute.
class ReshapedRegion {
 public:
  using Readers = std::unordered_map<std::string, std::vector<onnx::NodeProto*>>;

  ReshapedRegion(const CleanGraph& graph, const Readers& readers) : graph_(graph), readers_(readers) {}

  /// Returns whether the region of the value ends in reshapes whose results do not depend on its dimensions.
  bool collect(const std::string& value) {
    values_.insert(value);
    std::vector<std::string> open{value};
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      const auto found = readers_.find(name);
      if (graph_.is_output(name) || found == readers_.end()) return false;
      for (onnx::NodeProto* reader : found->second) {
        if (is_end(*reader, name)) continue;
        if (!has_trait(*reader, elementwise) || reader->output_size() != 1) return false;
        if (!values_.insert(reader->output(0)).second) continue;
        nodes_.push_back(reader);
        open.push_back(reader->output(0));
      }
    }
    return !nodes_.empty() && std::ranges::all_of(nodes_, [&](const auto* node) { return has_only_own_inputs(*node); });
  }

  const std::vector<onnx::NodeProto*>& nodes() const { return nodes_; }

 private:
  bool is_end(const onnx::NodeProto& node, const std::string& name) const {
    if (!is_standard(node) || node.op_type() != "Reshape" || node.input(0) != name) return false;
    const auto argument = graph_.integers(node, 1, "shape");
    return argument && std::ranges::find(*argument, 0) == argument->end();
  }

  /// Numbers are broadcast to any dimensions.
  bool has_only_own_inputs(const onnx::NodeProto& node) const {
    return std::ranges::all_of(node.input(), [&](const std::string& name) {
      if (name.empty() || values_.contains(name)) return true;
      const auto constant = graph_.constant(name);
      return constant && constant->dims.empty();
    });
  }

  const CleanGraph& graph_;
  const Readers& readers_;
  std::set<std::string> values_;
  std::vector<onnx::NodeProto*> nodes_;
};

}  // namespace

bool remove_inner_reshapes(CleanGraph& graph) {
  if (graph.opset() < first_clean_opset) return false;
  ReshapedRegion::Readers readers;
  for (auto& node : *graph.proto().mutable_node()) {
    for (const auto& name : read_names(node)) readers[name].push_back(&node);
  }
  std::set<const onnx::NodeProto*> changed;
  for (auto& node : *graph.proto().mutable_node()) {
    if (!has_trait(node, reshapes) || !has_input(node, 0)) continue;
    ReshapedRegion region(graph, readers);
    if (!region.collect(node.output(0))) continue;
    if (std::ranges::any_of(region.nodes(), [&](const auto* each) { return !changed.insert(each).second; })) continue;
    // Values get new names with their new dimensions.
    for (onnx::NodeProto* each : region.nodes()) {
      const std::string name = graph.context().unique_name(each->output(0) + "_reshaped");
      graph.replace(each->output(0), name);
      each->set_output(0, name);
    }
    graph.replace(node.output(0), node.input(0));
    CleanGraph::erase(node);
  }
  if (!changed.empty()) graph.finish();
  return !changed.empty();
}

}  // namespace rulemill::optimize
