#include "optimize/onnx/clean/clean.h"

#include <algorithm>

#include "optimize/model/graph.h"
#include "optimize/onnx/clean/clean_graph.h"
#include "optimize/onnx/clean/passes.h"
#include "optimize/onnx/import.h"
#include "optimize/onnx/operators/node_arguments.h"
#include "runtime/text/error.h"

namespace rulemill::optimize {
namespace {

bool run_passes(CleanGraph& graph);

template <typename Visit>
void for_each_subgraph(onnx::NodeProto& node, Visit visit) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) visit(*attribute.mutable_g());
    for (auto& subgraph : *attribute.mutable_graphs()) visit(subgraph);
  }
}

bool clean_subgraphs(CleanGraph& graph) {
  bool changed = false;
  for (auto& node : *graph.proto().mutable_node()) {
    if (!has_subgraph(node)) continue;
    for_each_subgraph(node, [&](onnx::GraphProto& subgraph) {
      CleanGraph inner(graph.context(), subgraph, &graph);
      changed = run_passes(inner) || changed;
    });
  }
  return changed;
}

using Pass = bool (*)(CleanGraph&);
constexpr Pass passes[] = {fold_known_sizes,      fold_constants,
                           fix_reshape_arguments, remove_identities,
                           remove_zero_addends,   remove_full_updates,
                           merge_duplicate_nodes, merge_movements,
                           remove_inner_reshapes, merge_duplicate_initializers,
                           inline_known_branches, clean_subgraphs,
                           remove_unused};

/// Runs all passes until none changes the graph. Each removes something, so that this ends. Constants that are only
/// stored in another way are no change.
bool run_passes(CleanGraph& graph) {
  bool changed = false;
  for (bool again = true; again;) {
    again = false;
    store_constants(graph);
    store_numbers(graph);
    for (const Pass pass : passes) again = pass(graph) || again;
    changed = changed || again;
  }
  return changed;
}

/// Returns what is known of values by the types of the model's inputs. What the model declares of other values is not
/// used, because exporters give one name to dimensions that differ at some sizes; nor are definitions, because these
/// say nothing of empty tensors.
std::unordered_map<std::string, KnownTensor> find_known_values(const OnnxModel& model, algebra::Symbols& symbols,
                                                               NodeInference& inference) {
  OnnxModel undeclared = model;
  onnx::GraphProto& graph = *undeclared.proto().model.mutable_graph();
  graph.clear_value_info();
  for (auto& output : *graph.mutable_output()) {
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  algebra::Library no_definitions;
  GraphBank bank(no_definitions, symbols);
  ImportedModel import = import_model(undeclared, bank, &inference, {.smallest = smallest_clean_size});
  if (!import.invalid_node.empty()) throw runtime::InputError(model.origin(), import.invalid_node);
  return std::move(import.known_values);
}

/// Removes declarations of values that no longer exist, and those with names of dimensions, as export does.
void remove_declarations(onnx::GraphProto& graph) {
  std::set<std::string> computed;
  for (const auto& node : graph.node()) computed.insert(node.output().begin(), node.output().end());
  auto& declarations = *graph.mutable_value_info();
  const auto is_outdated = [&](const onnx::ValueInfoProto& info) {
    const auto& dims = info.type().tensor_type().shape().dim();
    return !computed.contains(info.name()) ||
           std::ranges::any_of(dims, [](const auto& dim) { return !dim.dim_param().empty(); });
  };
  declarations.erase(std::remove_if(declarations.begin(), declarations.end(), is_outdated), declarations.end());
  for (auto& node : *graph.mutable_node()) for_each_subgraph(node, remove_declarations);
}

bool is_constant_node(const onnx::NodeProto& node) { return is_standard(node) && node.op_type() == "Constant"; }

std::uint64_t count_nodes(const onnx::GraphProto& graph) {
  std::uint64_t count = 0;
  for (const auto& node : graph.node()) {
    if (is_constant_node(node)) continue;
    ++count;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count += count_nodes(attribute.g());
      for (const auto& subgraph : attribute.graphs()) count += count_nodes(subgraph);
    }
  }
  return count;
}

/// Shapes are looked up again while that changes something. Layers that compute their padding from the size of their
/// image need a round each, since the size of the next image depends on it.
constexpr int max_rounds = 32;

}  // namespace

std::map<std::string, std::uint32_t> count_operators(const OnnxModel& model) {
  std::map<std::string, std::uint32_t> counts;
  for (const auto& node : model.proto().model.graph().node()) {
    if (!is_constant_node(node)) ++counts[node.op_type()];
  }
  return counts;
}

CleanResult clean_model(OnnxModel& model, NodeInference& inference) {
  CleanResult result;
  onnx::GraphProto& graph = *model.proto().model.mutable_graph();
  result.nodes_before = count_nodes(graph);
  CleanContext context{model.proto(), model.proto().outer_names, nullptr, {}, 0};
  collect_names(graph, context.used_names);
  for (int round = 0; round < max_rounds; ++round) {
    algebra::Symbols symbols;
    context.symbols = &symbols;
    context.known_values = find_known_values(model, symbols, inference);
    CleanGraph main(context, graph, nullptr);
    if (!run_passes(main)) break;
    result.changed = true;
  }
  if (result.changed) remove_declarations(graph);
  model.check();
  result.nodes_after = count_nodes(graph);
  return result;
}

}  // namespace rulemill::optimize
