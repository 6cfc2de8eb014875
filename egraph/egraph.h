// The typed e-graph: values that are known to be equal form a class, and equal operators on equal classes are equal
// (congruence). Every value has a type, every class one type. Each union is kept with its reason, for explanations.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algebra/library/library.h"
#include "egraph/key_table.h"
#include "egraph/size_table.h"

namespace rulemill::egraph {

/// A value: a variable, or one output of one e-node as it was first built. The values of one class have one
/// representative.
using Value = std::uint32_t;
using ENode = std::uint32_t;
inline constexpr std::uint32_t nothing = 0xffffffff;

class EGraph {
 public:
  EGraph(const algebra::Library& library, SizeTable& sizes) : library_(&library), sizes_(&sizes) {}

  /// Empties it; what it allocated is kept for the next graph.
  void clear();

  /// A value that is known by its type alone. `tag` is the caller's. `constant`: its elements are known as well.
  Value add_variable(std::uint32_t tag, ShapeId shape, bool constant = false);
  /// The node on these classes if there is one. Arguments of a commutative instance are found in either order.
  ENode find_node(algebra::InstanceId instance, std::span<const Value> arguments, std::span<const SizeId> sizes);
  /// That node, or a new one; nothing if it does not type. `types`, if given, are its output shapes, known to be right.
  ENode add_node(algebra::InstanceId instance, std::span<const Value> arguments, std::span<const SizeId> sizes,
                 std::span<const ShapeId> types = {});

  /// Says that two values of one type are equal because of the given reason (the caller's number). False if they were.
  bool unite(Value a, Value b, std::uint32_t reason);
  /// Restores congruence after unions: nodes that have become equal are united. To be called before matching.
  void rebuild();

  Value find(Value value) const {
    while (parent_[value] != value) {
      parent_[value] = parent_[parent_[value]];
      value = parent_[value];
    }
    return value;
  }
  bool equal(Value a, Value b) const { return find(a) == find(b); }
  ShapeId shape(Value value) const { return values_[find(value)].shape; }
  /// Whether the class has a term over constants alone, at known sizes.
  bool constant(Value value) const { return values_[find(value)].constant; }
  /// Whether the node is on constants alone, at known sizes.
  bool is_constant(ENode node) const;
  /// Operators in the smallest term of the class, counting a shared one each time that it is used.
  std::uint32_t smallest(Value value) const { return values_[find(value)].smallest; }
  /// The node at the top of that smallest term; nothing if the class has a variable.
  ENode smallest_node(Value value) const { return values_[find(value)].smallest_node; }

  std::uint32_t value_count() const { return static_cast<std::uint32_t>(values_.size()); }
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes_.size()); }
  std::uint32_t class_count() const { return classes_; }
  bool is_class(Value value) const { return parent_[value] == value; }

  /// A clock, for who looks again and again: what changes from now on is of a later time. The new time.
  std::uint32_t tick() { return ++now_; }
  /// When the class last got a value, and when the node was added.
  std::uint32_t changed_at(Value value) const { return values_[find(value)].changed_at; }
  std::uint32_t added_at(ENode node) const { return nodes_[node].added_at; }

  /// The next value of the same class; going on, one comes back to where one began.
  Value next_in_class(Value value) const { return values_[value].next; }
  /// Nothing for a variable.
  ENode node_of(Value value) const { return values_[value].node; }
  std::uint32_t output_of(Value value) const { return values_[value].output; }
  std::uint32_t tag_of(Value variable) const { return values_[variable].output; }

  algebra::InstanceId instance(ENode node) const { return nodes_[node].instance; }
  bool commutative(ENode node) const { return nodes_[node].commutative; }
  /// Arguments as given when the node was built, in that order: values, not representatives.
  std::span<const Value> arguments(ENode node) const {
    return {arguments_.data() + nodes_[node].first_argument, nodes_[node].arguments};
  }
  std::span<const SizeId> sizes(ENode node) const {
    return {node_sizes_.data() + nodes_[node].first_size, nodes_[node].sizes};
  }
  Value output(ENode node, std::uint32_t output) const { return nodes_[node].first_output + output; }
  std::uint32_t output_count(ENode node) const { return nodes_[node].outputs; }
  /// A node that turned out equal to an earlier one stands for nothing any more.
  bool is_duplicate(ENode node) const { return nodes_[node].same_as != nothing; }

  /// Nodes of an instance, duplicates included, in order of building; and the instances that occur, in order of
  /// appearance.
  std::span<const ENode> nodes_of(algebra::InstanceId instance) const;
  std::span<const algebra::InstanceId> instances() const { return instances_; }

  /// An edge of the proof forest: why a value equals the one it points to.
  struct Edge {
    static constexpr std::uint32_t congruence = 0xfffffffe;          // of the nodes, arguments in the same order
    static constexpr std::uint32_t swapped_congruence = 0xfffffffd;  // the two arguments exchanged
    Value to = nothing;
    std::uint32_t reason = nothing;
  };
  const Edge& edge(Value value) const { return edges_[value]; }
  const algebra::Library& library() const { return *library_; }
  SizeTable& size_table() const { return *sizes_; }

 private:
  struct ValueData {
    ENode node = nothing;
    std::uint32_t output = 0;  // of a variable: its tag
    Value next = nothing;      // circular list of the class's values
    // Of a representative:
    ShapeId shape{};
    std::uint32_t smallest = 0;
    ENode smallest_node = nothing;
    std::uint32_t last_use = nothing;  // circular list of argument slots that use the class
    std::uint32_t members = 1;
    std::uint32_t changed_at = 0;
    bool constant = false;
  };
  struct NodeData {
    algebra::InstanceId instance{};
    std::uint32_t first_argument = 0, arguments = 0, first_size = 0, sizes = 0, first_output = 0, outputs = 0;
    ENode same_as = nothing;  // of a duplicate: the node that it equals
    std::uint32_t added_at = 0;
    bool commutative = false;
  };

  std::span<const std::uint32_t> key(algebra::InstanceId instance, std::span<const Value> arguments,
                                     std::span<const SizeId> sizes, bool commutative);
  ENode live(ENode node) const;
  void add_use(Value argument, std::uint32_t slot);
  void unite_congruent(ENode node, ENode earlier);
  void link(Value a, Value b, std::uint32_t reason);
  std::uint32_t size_of(ENode node) const;

  const algebra::Library* library_;
  SizeTable* sizes_;
  mutable std::vector<Value> parent_;
  std::vector<ValueData> values_;
  std::vector<Edge> edges_;
  std::vector<NodeData> nodes_;
  std::vector<Value> arguments_;
  std::vector<SizeId> node_sizes_;
  std::vector<std::uint32_t> next_use_;  // by argument slot
  std::vector<ENode> node_of_slot_;      // by argument slot
  KeyTable by_key_;
  std::vector<Value> changed_;  // classes whose users are to be looked at again
  std::vector<std::vector<ENode>> by_instance_;
  std::vector<algebra::InstanceId> instances_;
  std::uint32_t classes_ = 0;
  std::uint32_t now_ = 0;
  std::vector<std::uint32_t> key_;
  std::vector<ShapeId> shapes_;
};

}  // namespace rulemill::egraph
