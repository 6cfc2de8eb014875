#include "egraph/egraph.h"

#include <algorithm>
#include <limits>

#include "runtime/text/error.h"

namespace rulemill::egraph {

using algebra::InstanceId;

void EGraph::clear() {
  parent_.clear();
  classes_.clear();
  edges_.clear();
  nodes_.clear();
  arguments_.clear();
  node_sizes_.clear();
  next_use_.clear();
  node_of_slot_.clear();
  by_key_.clear();
  pending_.clear();
  for (const InstanceId instance : instances_) by_instance_[static_cast<std::uint32_t>(instance)].clear();
  instances_.clear();
  class_count_ = 0;
  now_ = 0;
}

EClassId EGraph::add_variable(std::uint32_t tag, ShapeId shape, bool constant) {
  const auto id = static_cast<EClassId>(classes_.size());
  parent_.push_back(id);
  classes_.push_back({.output = tag, .next = id, .shape = shape, .changed_at = now_, .constant = constant});
  edges_.push_back({});
  ++class_count_;
  return id;
}

std::span<const std::uint32_t> EGraph::key(InstanceId instance, std::span<const EClassId> arguments,
                                           std::span<const SizeId> sizes, bool commutative) {
  key_.assign(1, static_cast<std::uint32_t>(instance));
  for (const EClassId argument : arguments) key_.push_back(find(argument));
  if (commutative && key_[1] > key_[2]) std::swap(key_[1], key_[2]);
  for (const SizeId size : sizes) key_.push_back(static_cast<std::uint32_t>(size));
  return key_;
}

ENodeId EGraph::find_node(InstanceId instance, std::span<const EClassId> arguments, std::span<const SizeId> sizes) {
  return representative(by_key_.find(key(instance, arguments, sizes, library_->instance(instance).commutative)));
}

ENodeId EGraph::representative(ENodeId node) const {
  while (node != no_id && nodes_[node].same_as != no_id) node = nodes_[node].same_as;
  return node;
}

ENodeId EGraph::add_node(InstanceId id, std::span<const EClassId> arguments, std::span<const SizeId> sizes,
                         std::span<const ShapeId> types) {
  const algebra::OperatorInstance& instance = library_->instance(id);
  const auto node = static_cast<ENodeId>(nodes_.size());
  if (const ENodeId known = by_key_.find(key(id, arguments, sizes, instance.commutative)); known != no_id)
    return representative(known);
  if (types.empty()) {
    shapes_.clear();
    for (const EClassId argument : arguments) shapes_.push_back(shape(argument));
    const auto inferred = sizes_->infer(id, shapes_, sizes);
    if (!inferred) return no_id;
    types = *inferred;
  }
  by_key_.insert(key_, node);
  NodeData data{.instance = id,
                .first_argument = static_cast<std::uint32_t>(arguments_.size()),
                .arguments = static_cast<std::uint32_t>(arguments.size()),
                .first_size = static_cast<std::uint32_t>(node_sizes_.size()),
                .sizes = static_cast<std::uint32_t>(sizes.size()),
                .first_output = static_cast<std::uint32_t>(classes_.size()),
                .outputs = static_cast<std::uint32_t>(types.size()),
                .added_at = now_,
                .commutative = instance.commutative};
  for (const EClassId argument : arguments) {
    const auto slot = static_cast<std::uint32_t>(arguments_.size());
    arguments_.push_back(argument);
    node_of_slot_.push_back(node);
    next_use_.push_back(slot);
    add_use(find(argument), slot);
  }
  node_sizes_.insert(node_sizes_.end(), sizes.begin(), sizes.end());
  nodes_.push_back(data);
  const std::uint32_t min_term_size = term_size(node);
  const bool constant = is_constant_node(node);
  for (std::uint32_t output = 0; output < data.outputs; ++output) {
    const EClassId eclass = data.first_output + output;
    parent_.push_back(eclass);
    classes_.push_back({.node = node,
                        .output = output,
                        .next = eclass,
                        .shape = types[output],
                        .min_term_size = min_term_size,
                        .min_term_node = node,
                        .changed_at = now_,
                        .constant = constant});
    edges_.push_back({});
    ++class_count_;
  }
  const auto index = static_cast<std::uint32_t>(id);
  if (index >= by_instance_.size()) by_instance_.resize(index + 1);
  if (by_instance_[index].empty()) instances_.push_back(id);
  by_instance_[index].push_back(node);
  return node;
}

std::span<const ENodeId> EGraph::nodes_of(InstanceId instance) const {
  const auto index = static_cast<std::uint32_t>(instance);
  if (index >= by_instance_.size()) return {};
  return by_instance_[index];
}

std::uint32_t EGraph::term_size(ENodeId node) const {
  std::uint64_t size = 1;
  for (const EClassId argument : arguments(node)) size += min_term_size(argument);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, std::numeric_limits<std::uint32_t>::max() / 2));
}

bool EGraph::is_constant_node(ENodeId node) const {
  return std::ranges::all_of(arguments(node), [&](EClassId argument) { return is_constant_class(argument); }) &&
         std::ranges::all_of(sizes(node), [&](SizeId size) { return sizes_->poly(size).constant().has_value(); });
}

void EGraph::add_use(EClassId argument, std::uint32_t slot) {
  std::uint32_t& last = classes_[argument].last_use;
  if (last != no_id) std::swap(next_use_[last], next_use_[slot]);
  last = slot;
}

/// Makes `a` a child of `b` in the proof forest, by reversing the path above `a`.
void EGraph::link_proof(EClassId a, EClassId b, std::uint32_t reason) {
  Edge edge{b, reason};
  for (EClassId at = a; at != no_id;) {
    std::swap(edges_[at], edge);
    const EClassId above = edge.to;
    edge.to = at;
    at = above;
  }
}

bool EGraph::merge(EClassId a, EClassId b, std::uint32_t reason) {
  EClassId kept = find(a), gone = find(b);
  if (kept == gone) return false;
  RM_CHECK(classes_[kept].shape == classes_[gone].shape, "equal values have equal types");
  link_proof(a, b, reason);
  if (classes_[kept].members < classes_[gone].members) std::swap(kept, gone);
  ClassData& k = classes_[kept];
  ClassData& g = classes_[gone];
  parent_[gone] = kept;
  k.members += g.members;
  k.changed_at = now_;
  k.constant = k.constant || g.constant;
  if (g.min_term_size < k.min_term_size) {
    k.min_term_size = g.min_term_size;
    k.min_term_node = g.min_term_node;
  }
  std::swap(k.next, g.next);
  if (g.last_use != no_id) {
    if (k.last_use == no_id)
      k.last_use = g.last_use;
    else
      std::swap(next_use_[k.last_use], next_use_[g.last_use]);
  }
  --class_count_;
  pending_.push_back(kept);
  return true;
}

void EGraph::merge_congruent(ENodeId node, ENodeId earlier) {
  bool swapped = false;
  if (nodes_[node].commutative) {
    const auto a = arguments(node), b = arguments(earlier);
    swapped = !(are_equal(a[0], b[0]) && are_equal(a[1], b[1]));
  }
  nodes_[std::max(node, earlier)].same_as = std::min(node, earlier);
  for (std::uint32_t i = 0; i < nodes_[node].outputs; ++i)
    merge(output(node, i), output(earlier, i), swapped ? Edge::swapped_congruence : Edge::congruence);
}

void EGraph::rebuild() {
  while (!pending_.empty()) {
    const EClassId changed = pending_.back();
    pending_.pop_back();
    if (!is_canonical(changed)) continue;  // its users were merged into those of another pending class
    const std::uint32_t last = classes_[changed].last_use;
    if (last == no_id) continue;
    std::uint32_t slot = last;
    do {
      slot = next_use_[slot];
      const ENodeId node = node_of_slot_[slot];
      if (is_duplicate(node)) continue;
      const ENodeId known = representative(
          by_key_.insert(key(instance(node), arguments(node), sizes(node), is_commutative(node)), node).first);
      if (known != node) merge_congruent(node, known);
      const std::uint32_t size = term_size(node);
      for (std::uint32_t i = 0; i < nodes_[node].outputs; ++i) {
        ClassData& of = classes_[find(output(node, i))];
        if (size < of.min_term_size) {
          of.min_term_size = size;
          of.min_term_node = node;
          pending_.push_back(find(output(node, i)));
        }
      }
    } while (slot != last);
  }
}

}  // namespace rulemill::egraph
