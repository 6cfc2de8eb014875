#include "optimize/equal/proof/congruence.h"

#include <algorithm>

namespace rulemill::optimize {

void Congruence::add(std::span<const ValueId> values) {
  for (const NodeId id : bank_.live_nodes(values)) {
    if (added_.insert(id).second) nodes_.push_back(id);
  }
}

void Congruence::merge(ValueId a, ValueId b) {
  a = find(a);
  b = find(b);
  if (a != b) parents_[std::max(a, b)] = std::min(a, b);
}

ValueId Congruence::find(ValueId value) const {
  auto parent = parents_.find(value);
  for (; parent != parents_.end(); parent = parents_.find(value)) value = parent->second;
  return value;
}

/// A pass in topological order carries equalities from arguments to all that uses them.
void Congruence::close() {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    std::ranges::sort(nodes_);
    for (std::size_t i = 0, end = nodes_.size(); i < end; ++i) {
      const Node node = bank_.node(nodes_[i]);  // a copy, because the bank grows
      std::vector<ValueId> arguments;
      for (const ValueId argument : node.arguments) arguments.push_back(find(argument));
      const NodeId equal = bank_.with_arguments(nodes_[i], arguments);
      if (added_.insert(equal).second) nodes_.push_back(equal);
      // A node of a model may leave out its last outputs.
      for (std::size_t o = 0; o < std::min(node.outputs.size(), bank_.node(equal).outputs.size()); ++o) {
        const ValueId other = bank_.node(equal).outputs[o];
        if (find(node.outputs[o]) == find(other)) continue;
        merge(node.outputs[o], other);
        has_changed = true;
      }
    }
  }
}

}  // namespace rulemill::optimize
