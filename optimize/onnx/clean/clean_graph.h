// A graph of a model while it is cleaned: the main graph, or a subgraph of a node. Looks up constants, types and
// shapes, and replaces values. A value keeps its name as long as it exists.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "optimize/onnx/format/model_proto.h"
#include "optimize/onnx/operators/onnx_operators.h"

namespace rulemill::optimize {

/// The opset since which all elementwise operators broadcast as today.
inline constexpr int first_clean_opset = 7;

/// The clean-up holds at every size.
inline constexpr std::int64_t smallest_clean_size = 0;

/// What all graphs of a model share.
struct CleanContext {
  OnnxModelProto& model;
  std::set<std::string> used_names;                           // in any graph
  algebra::Symbols* symbols = nullptr;                        // of the sizes in `known_values`
  std::unordered_map<std::string, KnownTensor> known_values;  // of the main graph
  std::size_t added_bytes = 0;  // by which folded constants exceed those that they replace

  std::string unique_name(const std::string& stem);
};

/// Names of values and the names that replace them, possibly in several steps.
using Replacements = std::unordered_map<std::string, std::string>;
/// Replaces the names of values that a node and its subgraphs read.
void rename_values(onnx::NodeProto& node, const Replacements& replacements);

class CleanGraph {
 public:
  /// `outer` is the graph around a subgraph; nullptr: the main graph.
  CleanGraph(CleanContext& context, onnx::GraphProto& graph, const CleanGraph* outer);

  onnx::GraphProto& proto() { return graph_; }
  const onnx::GraphProto& proto() const { return graph_; }
  CleanContext& context() { return context_; }
  int opset() const { return context_.model.opset; }
  /// Before IR version 4 an initializer had to be a graph input, and Constant nodes are the only other constants.
  bool allows_new_initializers() const { return context_.model.model.ir_version() >= 4; }

  /// Returns the constant of this graph or of those around it; nullopt if the value is not constant or a string.
  std::optional<RawTensor> constant(const std::string& name) const;
  /// Returns the integers that input `input` or attribute `attribute` of a node has; nullopt if absent or not constant.
  std::optional<std::vector<std::int64_t>> integers(const onnx::NodeProto& node, int input,
                                                    const std::string& attribute) const;
  /// Returns ONNX's number of a value's element type; 0 if unknown.
  int element_type(const std::string& name) const;
  /// Returns the shape of a value; nullopt if unknown.
  std::optional<algebra::Shape> shape(const std::string& name) const;
  /// Returns what is known of a value for all inputs.
  KnownTensor known(const std::string& name) const;
  /// Returns what is known of the outputs of a node of which `inputs` are known. Elements are at most `max_bytes`.
  std::vector<KnownTensor> evaluate(const onnx::NodeProto& node, const std::vector<KnownTensor>& inputs,
                                    std::size_t max_bytes) const;
  /// Returns the movement that makes the first output from the first input; nullopt if none does, or it is not known.
  std::optional<Movement> movement(const onnx::NodeProto& node) const;
  /// Returns the node of this graph that computes the value; nullptr if none does.
  const onnx::NodeProto* producer(const std::string& name) const;
  bool is_output(const std::string& name) const { return outputs_.contains(name); }
  bool is_input(const std::string& name) const { return inputs_.contains(name); }
  /// Counts the nodes of this graph that read a value, including those whose subgraphs do, and the graph's outputs.
  std::unordered_map<std::string, int> count_readers() const;

  /// Whether replace() is possible: an output keeps its name, so that only a value of a node can take it.
  bool can_replace(const std::string& from, const std::string& to) const;
  /// Lets the nodes that are updated from now on read `to`. If `from` is an output, `to` takes its name, so that the
  /// node of `from` must be erased.
  void replace(const std::string& from, const std::string& to);
  /// Applies the replacements so far to a node and its subgraphs.
  void update(onnx::NodeProto& node) const;
  /// Returns the name that replaces a value, or the name itself.
  const std::string& current_name(const std::string& name) const;

  /// Marks a node; finish() removes it.
  static void erase(onnx::NodeProto& node) { node.Clear(); }
  static bool is_erased(const onnx::NodeProto& node) { return node.op_type().empty(); }
  /// Replaces the node of a value by a constant.
  void make_constant(onnx::NodeProto& node, const std::vector<RawTensor>& values);
  /// Adds an initializer whose name begins with `stem`; returns its name.
  std::string add_constant(const std::string& stem, const RawTensor& value);
  /// Applies all replacements and removes erased nodes.
  void finish();

  /// Calls change(node) for all nodes in order, and finish() if it returned true for one. Returns whether it did.
  template <class Change>
  bool change_nodes(const Change& change) {
    bool changed = false;
    for (auto& node : *graph_.mutable_node()) changed = change(node) || changed;
    if (changed) finish();
    return changed;
  }
  /// Removes the nodes whose first output is the input that `returned_input` finds, or makes them an Identity.
  bool remove_nodes(const std::function<std::optional<int>(const onnx::NodeProto&)>& returned_input);

 private:
  void index();
  bool defines(const std::string& name) const;
  void add_initializer(onnx::TensorProto tensor);
  int computed_type(const onnx::NodeProto& node) const;
  void rename_everywhere(const std::string& from, const std::string& to);

  CleanContext& context_;
  onnx::GraphProto& graph_;
  const CleanGraph* outer_;
  std::unordered_map<std::string, const onnx::TensorProto*> own_constants_;  // initializers and Constant nodes
  std::unordered_map<std::string, int> types_;                               // ONNX element types
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::unordered_set<std::string> inputs_, outputs_;
  Replacements replacements_;
};

}  // namespace rulemill::optimize
