#include <algorithm>

#include "optimize/onnx/clean/passes.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

/// Returns the branch that an If with a constant condition takes; nullptr if that is unknown.
const onnx::GraphProto* known_branch(const CleanGraph& graph, const onnx::NodeProto& node) {
  if (!is_standard(node) || node.op_type() != "If" || !has_input(node, 0)) return nullptr;
  const auto condition = graph.constant(node.input(0));
  if (!condition || condition->type != onnx::TensorProto::BOOL || condition->count() != 1) return nullptr;
  const onnx::AttributeProto* branch = find_attribute(node, condition->bytes[0] != 0 ? "then_branch" : "else_branch");
  const bool is_known = branch != nullptr && branch->has_g() && branch->g().output_size() == node.output_size() &&
                        branch->g().sparse_initializer_size() == 0;
  return is_known ? &branch->g() : nullptr;
}

/// The nodes of a branch as nodes of the graph around it.
class InlinedBranch {
 public:
  InlinedBranch(CleanGraph& graph, const onnx::NodeProto& node, onnx::GraphProto branch)
      : graph_(graph), branch_(std::move(branch)) {
    for (int i = 0; i < node.output_size(); ++i) add_output(branch_.output(i).name(), node.output(i));
    for (auto& tensor : *branch_.mutable_initializer()) rename(tensor.name());
    for (auto& inner : *branch_.mutable_node()) {
      for (const auto& name : inner.output()) rename(name);
    }
  }

  void append_to(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    for (auto& tensor : *branch_.mutable_initializer()) {
      tensor.set_name(names_.at(tensor.name()));
      *graph_.proto().add_initializer() = std::move(tensor);
    }
    for (auto& inner : *branch_.mutable_node()) {
      rename_values(inner, names_);
      for (auto& name : *inner.mutable_output()) name = name.empty() ? "" : names_.at(name);
      *nodes.Add() = std::move(inner);
    }
    for (auto& copy : copies_) {
      rename_values(copy, names_);
      *nodes.Add() = std::move(copy);
    }
  }

 private:
  bool is_computed(const std::string& name) const {
    return std::ranges::any_of(branch_.node(), [&](const auto& inner) {
      return std::ranges::find(inner.output(), name) != inner.output().end();
    });
  }

  /// A computed value takes the name of the If's output; another one is copied to it.
  void add_output(const std::string& inner, const std::string& outer) {
    if (outer.empty()) return;
    if (is_computed(inner) && names_.emplace(inner, outer).second) return;
    onnx::NodeProto& copy = copies_.emplace_back();
    copy.set_op_type("Identity");
    copy.set_name(graph_.context().unique_name(outer + "_copy"));
    copy.add_input(inner);
    copy.add_output(outer);
  }

  void rename(const std::string& name) {
    if (!name.empty() && !names_.contains(name)) names_.emplace(name, graph_.context().unique_name(name));
  }

  CleanGraph& graph_;
  onnx::GraphProto branch_;
  std::unordered_map<std::string, std::string> names_;
  std::vector<onnx::NodeProto> copies_;
};

}  // namespace

bool inline_known_branches(CleanGraph& graph) {
  if (!graph.allows_new_initializers()) return false;
  auto& nodes = *graph.proto().mutable_node();
  if (std::ranges::none_of(nodes, [&](const auto& node) { return known_branch(graph, node) != nullptr; })) return false;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> result;
  for (auto& node : nodes) {
    if (const onnx::GraphProto* branch = known_branch(graph, node)) {
      InlinedBranch(graph, node, *branch).append_to(result);
    } else {
      *result.Add() = node;
    }
  }
  nodes.Swap(&result);
  graph.finish();
  return true;
}

}  // namespace rulemill::optimize
