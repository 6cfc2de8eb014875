#include "optimize/onnx/operators/node_arguments.h"

#include <algorithm>
#include <set>

#include "optimize/onnx/format/captured_names.h"

namespace rulemill::optimize {

bool is_standard(const onnx::NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

std::vector<std::string> read_names(const onnx::NodeProto& node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  if (has_subgraph(node)) {
    const std::set<std::string> captured = captured_names(node);
    names.insert(names.end(), captured.begin(), captured.end());
  }
  return names;
}

bool has_subgraph(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(),
                             [](const auto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; });
}

bool has_input(const onnx::NodeProto& node, int i) { return i < node.input_size() && !node.input(i).empty(); }

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name) {
  const auto found = std::ranges::find(node.attribute(), name, &onnx::AttributeProto::name);
  return found == node.attribute().end() ? nullptr : &*found;
}

std::int64_t int_attribute(const onnx::NodeProto& node, const std::string& name, std::int64_t default_value) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ? default_value : attribute->i();
}

std::int64_t resolve_axis(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  const std::int64_t position = axis < 0 ? axis + size : axis;
  return position < 0 || position >= size ? -1 : position;
}

std::optional<std::vector<bool>> mark_axes(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<bool> marked(rank, false);
  for (const std::int64_t each : axes) {
    const std::int64_t axis = resolve_axis(each, rank);
    if (axis < 0 || marked[static_cast<std::size_t>(axis)]) return std::nullopt;
    marked[static_cast<std::size_t>(axis)] = true;
  }
  return marked;
}

}  // namespace rulemill::optimize
