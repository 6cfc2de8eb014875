#include <algorithm>
#include <map>
#include <tuple>

#include "optimize/onnx/clean/passes.h"

namespace rulemill::optimize {
namespace {

bool is_mergeable(const onnx::NodeProto& node) { return is_repeatable(node) && node.output_size() > 0; }

/// Returns all that determines the node's results.
std::string content_key(const onnx::NodeProto& node) {
  std::string key = node.op_type();
  const auto add = [&](std::string_view text) { key += "\n" + std::to_string(text.size()) + " " + std::string(text); };
  for (const auto& name : node.input()) add(name);
  for (const auto& name : node.output()) add(name.empty() ? "absent" : "output");
  std::map<std::string, std::string> attributes;
  for (const auto& attribute : node.attribute()) attributes.emplace(attribute.name(), attribute.SerializeAsString());
  for (const auto& [name, attribute] : attributes) add(attribute);
  return key;
}

class DuplicateMerger {
 public:
  explicit DuplicateMerger(CleanGraph& graph) : graph_(graph) {}

  bool run() {
    return graph_.change_nodes([&](onnx::NodeProto& node) {
      graph_.update(node);
      if (!is_mergeable(node) || (!merge_equal_node(node) && !merge_equal_sizes(node))) return false;
      CleanGraph::erase(node);
      return true;
    });
  }

 private:
  bool merge_equal_node(const onnx::NodeProto& node) {
    std::vector<std::string> names(node.output().begin(), node.output().end());
    const auto [first, added] = nodes_.emplace(content_key(node), names);
    if (added) return false;
    const std::vector<std::string>& kept = first->second;
    const auto can_replace = [&](std::size_t i) {
      return names[i].empty() || graph_.can_replace(names[i], graph_.current_name(kept[i]));
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!can_replace(i)) return false;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) graph_.replace(names[i], kept[i]);
    }
    return true;
  }

  /// Sizes that are equal for all inputs, although they are computed from different values.
  bool merge_equal_sizes(const onnx::NodeProto& node) {
    const KnownTensor value = node.output_size() == 1 ? graph_.known(node.output(0)) : KnownTensor();
    if (!value.sizes) return false;
    const auto [first, added] =
        sizes_.emplace(std::tuple(value.type, *to_numbers(value.dims), *value.sizes), node.output(0));
    if (added || !graph_.can_replace(node.output(0), graph_.current_name(first->second))) return false;
    graph_.replace(node.output(0), first->second);
    return true;
  }

  CleanGraph& graph_;
  std::map<std::string, std::vector<std::string>> nodes_;  // outputs of the first node of a content
  std::map<std::tuple<int, Dims, std::vector<algebra::Poly>>, std::string> sizes_;
};

}  // namespace

bool merge_duplicate_nodes(CleanGraph& graph) { return DuplicateMerger(graph).run(); }

bool merge_duplicate_initializers(CleanGraph& graph) {
  std::map<std::pair<int, Dims>, std::vector<std::pair<std::string, RawTensor>>> groups;  // by type and shape
  bool changed = false;
  for (const auto& tensor : graph.proto().initializer()) {
    const auto value = graph.constant(tensor.name());
    if (!value || graph.is_output(tensor.name()) || graph.is_input(tensor.name())) continue;
    auto& group = groups[{value->type, value->dims}];
    const auto equal = std::ranges::find_if(group, [&](const auto& each) { return each.second.bytes == value->bytes; });
    if (equal == group.end()) {
      group.emplace_back(tensor.name(), *value);
    } else if (graph.can_replace(tensor.name(), equal->first)) {
      graph.replace(tensor.name(), equal->first);
      changed = true;
    }
  }
  if (changed) graph.finish();
  return changed;
}

}  // namespace rulemill::optimize
