#include "optimize/search/structural_hash.h"

#include <algorithm>

#include "runtime/text/hash.h"

namespace rulemill::optimize {

std::uint64_t StructuralHasher::hash(std::span<const ValueId> outputs) {
  // Depth first, skipping known nodes.
  std::vector<NodeId> open, order;
  for (ValueId output : outputs) open.push_back(bank_->value(output).node);
  while (!open.empty()) {
    NodeId id = open.back();
    if (known_.contains(id)) {
      open.pop_back();
      continue;
    }
    const Node& node = bank_->node(id);
    bool ready = true;
    if (!node.constant) {
      for (ValueId argument : node.arguments) {
        NodeId below = bank_->value(argument).node;
        if (known_.contains(below)) continue;
        open.push_back(below);
        ready = false;
      }
    }
    if (!ready) continue;
    known_.emplace(id, compute(node));
    open.pop_back();
  }
  std::vector<std::uint64_t> words;
  for (ValueId output : outputs) words.push_back(hash(output));
  return runtime::hash64(runtime::bytes_of(words));
}

std::uint64_t StructuralHasher::hash(ValueId value) const {
  std::uint64_t words[] = {known_.at(bank_->value(value).node), bank_->value(value).output};
  return runtime::hash64(runtime::bytes_of(words));
}

std::uint64_t StructuralHasher::compute(const Node& node) const {
  std::vector<std::uint64_t> words;
  if (node.constant) {
    words.push_back(~0ull);
    for (const algebra::Poly& dim : *bank_->value(node.outputs[0]).type) {
      words.push_back(static_cast<std::uint64_t>(dim.constant().value_or(0)));
    }
    return runtime::hash64(runtime::bytes_of(words));
  }
  for (ValueId argument : node.arguments) words.push_back(hash(argument));
  if (node.kind == Node::Kind::Algebra && bank_->instance(node).commutative) std::ranges::sort(words);
  words.push_back(static_cast<std::uint64_t>(node.kind));
  words.push_back(node.kind == Node::Kind::Algebra ? static_cast<std::uint64_t>(node.instance) : node.source);
  for (const algebra::Poly& size : node.sizes) words.push_back(size.hash());
  return runtime::hash64(runtime::bytes_of(words));
}

}  // namespace rulemill::optimize
