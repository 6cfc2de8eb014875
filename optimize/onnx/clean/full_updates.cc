#include <cstdint>
#include <optional>
#include <string>

#include "optimize/onnx/clean/passes.h"
#include "optimize/onnx/operators/node_arguments.h"

namespace rulemill::optimize {
namespace {

/// Larger lists of positions are not compared; those that a model repeats from a few numbers are not stored.
constexpr std::size_t max_compared_bytes = 64 << 20;
/// Of nodes that compute a list of positions.
constexpr int max_depth = 6;

/// Returns what is known of a value that a few nodes compute from constants.
KnownTensor computed_value(const CleanGraph& graph, const std::string& name, int depth = max_depth) {
  if (auto numbers = graph.constant(name)) return make_known(std::move(*numbers));
  const onnx::NodeProto* node = graph.producer(name);
  if (node == nullptr || depth == 0 || node->output_size() != 1) return {};
  std::vector<KnownTensor> inputs;
  for (const auto& input : node->input()) {
    inputs.push_back(computed_value(graph, input, depth - 1));
    if (!inputs.back().numbers) return {};
  }
  return graph.evaluate(*node, inputs, max_compared_bytes).at(0);
}

/// Whether the indices list all positions of the leading dimensions in their order, as exporters write `x[:, :] = y`:
/// element [p..., j] is p[j].
bool list_all_positions(const RawTensor& indices, const algebra::Shape& data) {
  const auto numbers = indices.integers();
  if (!numbers || indices.dims.size() < 2 || indices.dims.size() > data.size() + 1) return false;
  const auto coordinates = static_cast<std::size_t>(indices.dims.back());
  const Dims size(indices.dims.begin(), indices.dims.end() - 1);
  if (coordinates != size.size()) return false;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 1 || data[d] != algebra::Poly(size[d])) return false;
  }
  const Dims strides = row_major_strides(size);
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const std::size_t d = i % coordinates;
    if ((*numbers)[i] != static_cast<std::int64_t>(i / coordinates) / strides[d] % size[d]) return false;
  }
  return true;
}

/// Whether a ScatterND writes every position, so that its result is its updates.
bool is_full_update(const CleanGraph& graph, const onnx::NodeProto& node) {
  if (!is_standard(node) || node.op_type() != "ScatterND" || node.input_size() != 3) return false;
  const onnx::AttributeProto* reduction = find_attribute(node, "reduction");
  if (reduction != nullptr && reduction->s() != "none") return false;
  const auto data = graph.shape(node.input(0));
  const auto indices = data ? computed_value(graph, node.input(1)).numbers : std::nullopt;
  return indices && list_all_positions(*indices, *data);
}

}  // namespace

bool remove_full_updates(CleanGraph& graph) {
  return graph.remove_nodes(
      [&](const auto& node) { return is_full_update(graph, node) ? std::optional(2) : std::nullopt; });
}

}  // namespace rulemill::optimize
