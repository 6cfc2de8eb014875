#include "egraph/egraph.h"

#include <algorithm>
#include <limits>

#include "runtime/error.h"

namespace rulemill::egraph {

using algebra::InstanceId;

void EGraph::clear() {
  parent_.clear();
  values_.clear();
  edges_.clear();
  nodes_.clear();
  arguments_.clear();
  node_sizes_.clear();
  next_use_.clear();
  node_of_slot_.clear();
  by_key_.clear();
  changed_.clear();
  for (const InstanceId instance : instances_) by_instance_[static_cast<std::uint32_t>(instance)].clear();
  instances_.clear();
  classes_ = 0;
  now_ = 0;
}

Value EGraph::add_variable(std::uint32_t tag, ShapeId shape, bool constant) {
  const auto value = static_cast<Value>(values_.size());
  parent_.push_back(value);
  values_.push_back({.output = tag, .next = value, .shape = shape, .changed_at = now_, .constant = constant});
  edges_.push_back({});
  ++classes_;
  return value;
}

std::span<const std::uint32_t> EGraph::key(InstanceId instance, std::span<const Value> arguments,
                                           std::span<const SizeId> sizes, bool commutative) {
  key_.assign(1, static_cast<std::uint32_t>(instance));
  for (const Value argument : arguments) key_.push_back(find(argument));
  if (commutative && key_[1] > key_[2]) std::swap(key_[1], key_[2]);
  for (const SizeId size : sizes) key_.push_back(static_cast<std::uint32_t>(size));
  return key_;
}

ENode EGraph::find_node(InstanceId instance, std::span<const Value> arguments, std::span<const SizeId> sizes) {
  return live(by_key_.find(key(instance, arguments, sizes, library_->instance(instance).commutative)));
}

ENode EGraph::live(ENode node) const {
  while (node != nothing && nodes_[node].same_as != nothing) node = nodes_[node].same_as;
  return node;
}

ENode EGraph::add_node(InstanceId id, std::span<const Value> arguments, std::span<const SizeId> sizes,
                       std::span<const ShapeId> types) {
  const algebra::Instance& instance = library_->instance(id);
  const auto node = static_cast<ENode>(nodes_.size());
  if (const ENode known = by_key_.find(key(id, arguments, sizes, instance.commutative)); known != nothing) {
    return live(known);
  }
  if (types.empty()) {
    shapes_.clear();
    for (const Value argument : arguments) shapes_.push_back(shape(argument));
    const auto inferred = sizes_->infer(id, shapes_, sizes);
    if (!inferred) return nothing;
    types = *inferred;
  }
  by_key_.insert(key_, node);
  NodeData data{.instance = id,
                .first_argument = static_cast<std::uint32_t>(arguments_.size()),
                .arguments = static_cast<std::uint32_t>(arguments.size()),
                .first_size = static_cast<std::uint32_t>(node_sizes_.size()),
                .sizes = static_cast<std::uint32_t>(sizes.size()),
                .first_output = static_cast<std::uint32_t>(values_.size()),
                .outputs = static_cast<std::uint32_t>(types.size()),
                .added_at = now_,
                .commutative = instance.commutative};
  for (const Value argument : arguments) {
    const auto slot = static_cast<std::uint32_t>(arguments_.size());
    arguments_.push_back(argument);
    node_of_slot_.push_back(node);
    next_use_.push_back(slot);
    add_use(find(argument), slot);
  }
  node_sizes_.insert(node_sizes_.end(), sizes.begin(), sizes.end());
  nodes_.push_back(data);
  const std::uint32_t smallest = size_of(node);
  const bool constant = is_constant(node);
  for (std::uint32_t output = 0; output < data.outputs; ++output) {
    const Value value = data.first_output + output;
    parent_.push_back(value);
    values_.push_back({.node = node,
                       .output = output,
                       .next = value,
                       .shape = types[output],
                       .smallest = smallest,
                       .smallest_node = node,
                       .changed_at = now_,
                       .constant = constant});
    edges_.push_back({});
    ++classes_;
  }
  const auto index = static_cast<std::uint32_t>(id);
  if (index >= by_instance_.size()) by_instance_.resize(index + 1);
  if (by_instance_[index].empty()) instances_.push_back(id);
  by_instance_[index].push_back(node);
  return node;
}

std::span<const ENode> EGraph::nodes_of(InstanceId instance) const {
  const auto index = static_cast<std::uint32_t>(instance);
  if (index >= by_instance_.size()) return {};
  return by_instance_[index];
}

std::uint32_t EGraph::size_of(ENode node) const {
  std::uint64_t size = 1;
  for (const Value argument : arguments(node)) size += smallest(argument);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, std::numeric_limits<std::uint32_t>::max() / 2));
}

bool EGraph::is_constant(ENode node) const {
  return std::ranges::all_of(arguments(node), [&](Value argument) { return constant(argument); }) &&
         std::ranges::all_of(sizes(node), [&](SizeId size) { return sizes_->poly(size).constant().has_value(); });
}

void EGraph::add_use(Value argument, std::uint32_t slot) {
  std::uint32_t& last = values_[argument].last_use;
  if (last != nothing) std::swap(next_use_[last], next_use_[slot]);
  last = slot;
}

/// Makes `a` the child of `b` in the proof forest: the path above `a` is reversed.
void EGraph::link(Value a, Value b, std::uint32_t reason) {
  Edge edge{b, reason};
  for (Value at = a; at != nothing;) {
    std::swap(edges_[at], edge);
    const Value above = edge.to;
    edge.to = at;
    at = above;
  }
}

bool EGraph::unite(Value a, Value b, std::uint32_t reason) {
  Value kept = find(a), gone = find(b);
  if (kept == gone) return false;
  RM_CHECK(values_[kept].shape == values_[gone].shape, "equal values have equal types");
  link(a, b, reason);
  if (values_[kept].members < values_[gone].members) std::swap(kept, gone);
  ValueData& k = values_[kept];
  ValueData& g = values_[gone];
  parent_[gone] = kept;
  k.members += g.members;
  k.changed_at = now_;
  k.constant = k.constant || g.constant;
  if (g.smallest < k.smallest) {
    k.smallest = g.smallest;
    k.smallest_node = g.smallest_node;
  }
  std::swap(k.next, g.next);
  if (g.last_use != nothing) {
    if (k.last_use == nothing) {
      k.last_use = g.last_use;
    } else {
      std::swap(next_use_[k.last_use], next_use_[g.last_use]);
    }
  }
  --classes_;
  changed_.push_back(kept);
  return true;
}

void EGraph::unite_congruent(ENode node, ENode earlier) {
  bool swapped = false;
  if (nodes_[node].commutative) {
    const auto a = arguments(node), b = arguments(earlier);
    swapped = !(equal(a[0], b[0]) && equal(a[1], b[1]));
  }
  nodes_[std::max(node, earlier)].same_as = std::min(node, earlier);
  for (std::uint32_t i = 0; i < nodes_[node].outputs; ++i) {
    unite(output(node, i), output(earlier, i), swapped ? Edge::swapped_congruence : Edge::congruence);
  }
}

void EGraph::rebuild() {
  while (!changed_.empty()) {
    const Value changed = changed_.back();
    changed_.pop_back();
    if (!is_class(changed)) continue;  // its users were joined to those of a class that is on the list
    const std::uint32_t last = values_[changed].last_use;
    if (last == nothing) continue;
    std::uint32_t slot = last;
    do {
      slot = next_use_[slot];
      const ENode node = node_of_slot_[slot];
      if (is_duplicate(node)) continue;
      const ENode known =
          live(by_key_.insert(key(instance(node), arguments(node), sizes(node), commutative(node)), node).first);
      if (known != node) unite_congruent(node, known);
      const std::uint32_t size = size_of(node);
      for (std::uint32_t i = 0; i < nodes_[node].outputs; ++i) {
        ValueData& of = values_[find(output(node, i))];
        if (size < of.smallest) {
          of.smallest = size;
          of.smallest_node = node;
          changed_.push_back(find(output(node, i)));
        }
      }
    } while (slot != last);
  }
}

}  // namespace rulemill::egraph
