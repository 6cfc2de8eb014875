#include "optimize/model/empty_windows.h"

#include <algorithm>
#include <set>

namespace rulemill::optimize {
namespace {

constexpr std::int64_t tried_sizes = 9;  // 0 to 8
constexpr std::int64_t other_size = 9;   // of the dimensions beside the one that varies

/// ONNX gives every window operator a kernel_shape, but for Resize, whose operands tell the sizes of its windows.
bool is_window_operator(const algebra::OperatorInstance& instance) {
  return std::ranges::any_of(instance.onnx, [](const algebra::OnnxMapping& mapping) {
    return mapping.op_type == "Resize" || std::ranges::find(mapping.attributes, "kernel_shape",
                                                            &algebra::OnnxAttribute::name) != mapping.attributes.end();
  });
}

}  // namespace

EmptyWindows::EmptyWindows(const GraphBank& bank, std::span<const ValueId> original)
    : bank_(&bank), original_(windows_of(original)) {}

std::vector<EmptyWindows::Window> EmptyWindows::windows_of(std::span<const ValueId> outputs) const {
  std::vector<Window> windows;
  for (const NodeId id : bank_->live_nodes(outputs)) {
    const Node& node = bank_->node(id);
    if (node.kind != Node::Kind::Algebra || node.constant || !is_window_operator(bank_->instance(node))) continue;
    windows.push_back(
        {*bank_->value(node.arguments[0]).type, *bank_->value(node.outputs[0]).type, node.arguments.size() > 1});
  }
  return windows;
}

std::vector<EmptyWindows::Sizes> EmptyWindows::small_sizes(std::span<const Window> windows) const {
  std::set<algebra::Atom> atoms;
  for (const Window& window : windows) {
    for (const algebra::Shape& shape : {window.input, window.output}) {
      for (const algebra::Poly& dim : shape) {
        for (const algebra::Atom atom : bank_->symbols().atoms(dim)) atoms.insert(atom);
      }
    }
  }
  Sizes others;
  for (const algebra::Atom atom : atoms) others.emplace(atom, other_size);
  std::vector<Sizes> result{others};
  for (std::int64_t size = 0; size < tried_sizes; ++size) {
    result.push_back(others);
    for (auto& [atom, value] : result.back()) value = size;
    for (const algebra::Atom atom : atoms) {
      result.push_back(others);
      result.back().at(atom) = size;
    }
  }
  return result;
}

/// An empty batch is accepted. Pools may compute empty tensors, but not read them.
bool EmptyWindows::is_rejected(const Window& window, const Sizes& sizes) const {
  const auto smallest = [&](const algebra::Shape& shape) {
    std::int64_t least = 1;
    for (std::size_t d = 1; d < shape.size(); ++d)
      least = std::min(least, bank_->symbols().evaluate(shape[d], [&](algebra::Atom atom) { return sizes.at(atom); }));
    return least;
  };
  const algebra::Poly& batch = window.input[0];
  if (bank_->symbols().evaluate(batch, [&](algebra::Atom atom) { return sizes.at(atom); }) == 0) return false;
  return smallest(window.input) < 1 || smallest(window.output) < (window.has_filter ? 1 : 0);
}

bool EmptyWindows::are_added_by(std::span<const ValueId> outputs) const {
  std::vector<Window> added = windows_of(outputs);
  std::erase_if(added, [&](const Window& each) { return std::ranges::find(original_, each) != original_.end(); });
  if (added.empty()) return false;
  std::vector<Window> all = original_;
  all.insert(all.end(), added.begin(), added.end());
  for (const Sizes& sizes : small_sizes(all)) {
    const auto rejected = [&](const Window& window) { return is_rejected(window, sizes); };
    if (std::ranges::none_of(original_, rejected) && std::ranges::any_of(added, rejected)) return true;
  }
  return false;
}

}  // namespace rulemill::optimize
