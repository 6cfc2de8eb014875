#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "optimize/onnx/clean/passes.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

/// A constant may be this much larger than the constants that it replaces.
constexpr std::size_t max_added_bytes = 1 << 20;
/// All constants of a model together.
constexpr std::size_t max_added_bytes_of_model = 16 << 20;

bool has_output_of_graph(const CleanGraph& graph, const onnx::NodeProto& node) {
  return std::ranges::any_of(node.output(), [&](const auto& name) { return graph.is_output(name); });
}

/// Folds the nodes of one graph.
class ConstantFolding {
 public:
  explicit ConstantFolding(CleanGraph& graph) : graph_(graph), readers_(graph.count_readers()) {}

  bool run() {
    return graph_.change_nodes([&](onnx::NodeProto& node) { return fold(node); });
  }

 private:
  bool fold(onnx::NodeProto& node) {
    if (graph_.opset() < first_clean_opset || node.input_size() == 0 || has_subgraph(node) ||
        has_output_of_graph(graph_, node))
      return false;
    if (node.output_size() != 1 && !graph_.allows_new_initializers()) return false;
    std::vector<KnownTensor> inputs;
    std::size_t freed = 0;
    for (const auto& name : node.input()) {
      auto value = name.empty() ? std::nullopt : graph_.constant(name);
      if (!name.empty() && !value) return false;
      if (!name.empty() && readers_[name] == 1) freed += value->bytes.size();
      inputs.push_back(value ? make_known(std::move(*value)) : KnownTensor());
    }
    std::size_t& added_before = graph_.context().added_bytes;
    const std::size_t rest = max_added_bytes_of_model - std::min(max_added_bytes_of_model, added_before);
    std::vector<RawTensor> values;
    std::size_t bytes = 0;
    for (KnownTensor& output : graph_.evaluate(node, inputs, freed + std::min(max_added_bytes, rest))) {
      if (!output.numbers) return false;
      bytes += output.numbers->bytes.size();
      values.push_back(std::move(*output.numbers));
    }
    added_before += bytes - std::min(bytes, freed);
    graph_.make_constant(node, values);
    return true;
  }

  CleanGraph& graph_;
  std::unordered_map<std::string, int> readers_;
};

}  // namespace

/// No dimension that depends on the inputs is computed if another one is copied: at 0 the reshape would fail.
std::optional<std::vector<std::int64_t>> reshape_argument(const std::vector<algebra::Poly>& requested,
                                                          const algebra::Shape& input) {
  std::vector<std::int64_t> argument;
  bool copies = false, computes = false, computes_dynamic = false;
  for (std::size_t d = 0; d < requested.size(); ++d) {
    if (const auto number = requested[d].constant()) {
      if (*number < -1 || *number >= std::numeric_limits<std::int32_t>::max()) return std::nullopt;
      copies = copies || *number == 0;
      if (*number == -1 && std::exchange(computes, true)) return std::nullopt;
      argument.push_back(*number);
    } else if (d < input.size() && requested[d] == input[d]) {
      copies = true;
      argument.push_back(0);
    } else {
      if (std::exchange(computes, true)) return std::nullopt;
      computes_dynamic = true;
      argument.push_back(-1);
    }
  }
  if (copies && computes_dynamic) return std::nullopt;
  return argument;
}

bool store_constants(CleanGraph& graph) {
  if (!graph.allows_new_initializers()) return false;
  return graph.change_nodes([&](onnx::NodeProto& node) {
    if (!is_standard(node) || node.op_type() != "Constant" || has_output_of_graph(graph, node)) return false;
    const auto value = graph.evaluate(node, {}, 0).at(0).numbers;
    if (value) graph.make_constant(node, {*value});
    return value.has_value();
  });
}

bool store_numbers(CleanGraph& graph) {
  static const std::set<std::string> broadcasting_operators = {"Add", "Sub", "Mul", "Div", "Pow"};
  if (!graph.allows_new_initializers() || graph.opset() < first_clean_opset) return false;
  bool changed = false;
  for (auto& node : *graph.proto().mutable_node()) {
    if (!is_standard(node) || !broadcasting_operators.contains(node.op_type()) || node.input_size() != 2) continue;
    for (const int side : {0, 1}) {
      const auto number = graph.constant(node.input(side));
      if (!number || number->dims.empty() || number->count() != 1) continue;
      const auto other = graph.shape(node.input(1 - side));
      if (!other || other->size() < number->dims.size()) continue;
      RawTensor without_dimensions = *number;
      without_dimensions.dims.clear();
      node.set_input(side, graph.add_constant(node.input(side), without_dimensions));
      changed = true;
    }
  }
  return changed;
}

bool fold_constants(CleanGraph& graph) { return ConstantFolding(graph).run(); }

bool fold_known_sizes(CleanGraph& graph) {
  return graph.change_nodes([&](onnx::NodeProto& node) {
    if (!is_standard(node) || node.op_type() == "Constant" || node.output_size() != 1) return false;
    if (has_output_of_graph(graph, node)) return false;
    const auto numbers = graph.known(node.output(0)).numbers;
    if (!numbers || numbers->count() > static_cast<std::int64_t>(max_size_elements)) return false;
    graph.make_constant(node, {*numbers});
    return true;
  });
}

bool fix_reshape_arguments(CleanGraph& graph) {
  if (!graph.allows_new_initializers()) return false;
  bool changed = false;
  for (auto& node : *graph.proto().mutable_node()) {
    if (!is_standard(node) || node.op_type() != "Reshape" || !has_input(node, 1)) continue;
    if (int_attribute(node, "allowzero", 0) != 0 || graph.constant(node.input(1))) continue;
    const auto input = graph.shape(node.input(0));
    const auto requested = to_sizes(graph.known(node.input(1)));
    const auto argument = input && requested ? reshape_argument(*requested, *input) : std::nullopt;
    if (!argument) continue;
    const RawTensor value = make_integer_tensor({static_cast<std::int64_t>(argument->size())}, *argument);
    node.set_input(1, graph.add_constant(node.output(0) + "_shape", value));
    changed = true;
  }
  return changed;
}

}  // namespace rulemill::optimize
