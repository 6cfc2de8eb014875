// The typed e-graph. An e-class is a set of equal terms of one type; congruence holds: equal operator instances on
// equal classes are equal. Every merge is recorded with its reason in a proof forest, for explanations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/library/library.h"
#include "egraph/key_table.h"
#include "egraph/size_table.h"

namespace rulemill::egraph {

/// The id of an e-class: of a variable, or of one output of an e-node when it was added. The ids of merged classes
/// share one canonical id.
using EClassId = std::uint32_t;
using ENodeId = std::uint32_t;
/// No class or node.
inline constexpr std::uint32_t no_id = 0xffffffff;

/// The data structure; reused for many small e-graphs.
class EGraph {
 public:
  EGraph(const algebra::Library& library, SizeTable& sizes) : library_(&library), sizes_(&sizes) {}

  /// Removes all content but keeps the allocated memory.
  void clear();

  /// Adds a variable of the given type. `tag` is chosen by the caller. `constant`: its elements are known.
  EClassId add_variable(std::uint32_t tag, ShapeId shape, bool constant = false);
  /// Returns the node with these arguments, in either order for a commutative instance; no_id if there is none.
  ENodeId find_node(algebra::InstanceId instance, std::span<const EClassId> arguments, std::span<const SizeId> sizes);
  /// Returns that node or adds it; no_id if it does not type. `types`, if given, are its correct output shapes.
  ENodeId add_node(algebra::InstanceId instance, std::span<const EClassId> arguments, std::span<const SizeId> sizes,
                   std::span<const ShapeId> types = {});

  /// Merges the classes of two ids of one type, for a reason numbered by the caller. False if they were equal before.
  bool merge(EClassId a, EClassId b, std::uint32_t reason);
  /// Restores congruence after merges, by merging nodes that became equal. To be called before matching.
  void rebuild();

  EClassId find(EClassId id) const {
    while (parent_[id] != id) {
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }
  bool are_equal(EClassId a, EClassId b) const { return find(a) == find(b); }
  ShapeId shape(EClassId id) const { return classes_[find(id)].shape; }
  /// True if the class has a term over constants only, at known sizes.
  bool is_constant_class(EClassId id) const { return classes_[find(id)].constant; }
  /// True if all arguments of the node are constant and its sizes known.
  bool is_constant_node(ENodeId node) const;
  /// The number of operators of the smallest term of the class, counting a shared one at each use.
  std::uint32_t min_term_size(EClassId id) const { return classes_[find(id)].min_term_size; }
  /// The root of that smallest term; no_id if it is a variable.
  ENodeId min_term_node(EClassId id) const { return classes_[find(id)].min_term_node; }

  std::uint32_t id_count() const { return static_cast<std::uint32_t>(classes_.size()); }
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes_.size()); }
  std::uint32_t class_count() const { return class_count_; }
  bool is_canonical(EClassId id) const { return parent_[id] == id; }

  /// Advances the time of changes and returns it, so that delta matching can tell later changes from earlier ones.
  std::uint32_t tick() { return ++now_; }
  /// The time at which the class last grew, and at which the node was added.
  std::uint32_t changed_at(EClassId id) const { return classes_[find(id)].changed_at; }
  std::uint32_t added_at(ENodeId node) const { return nodes_[node].added_at; }

  /// The next id of the same class, in a circular list.
  EClassId next_in_class(EClassId id) const { return classes_[id].next; }
  /// The node that the id was added for; no_id for a variable.
  ENodeId node_of(EClassId id) const { return classes_[id].node; }
  std::uint32_t output_of(EClassId id) const { return classes_[id].output; }
  std::uint32_t tag_of(EClassId variable) const { return classes_[variable].output; }

  algebra::InstanceId instance(ENodeId node) const { return nodes_[node].instance; }
  bool is_commutative(ENodeId node) const { return nodes_[node].commutative; }
  /// The arguments in the order given to add_node: ids, not canonical ones.
  std::span<const EClassId> arguments(ENodeId node) const {
    return {arguments_.data() + nodes_[node].first_argument, nodes_[node].arguments};
  }
  std::span<const SizeId> sizes(ENodeId node) const {
    return {node_sizes_.data() + nodes_[node].first_size, nodes_[node].sizes};
  }
  EClassId output(ENodeId node, std::uint32_t output) const { return nodes_[node].first_output + output; }
  std::uint32_t output_count(ENodeId node) const { return nodes_[node].outputs; }
  /// True if the node became equal to an earlier one, which represents it.
  bool is_duplicate(ENodeId node) const { return nodes_[node].same_as != no_id; }

  /// The nodes of an instance, including duplicates, in order of creation; and the instances that occur, in order of
  /// first use.
  std::span<const ENodeId> nodes_of(algebra::InstanceId instance) const;
  std::span<const algebra::InstanceId> instances() const { return instances_; }

  /// An edge of the proof forest: the reason why an id equals the one it points to.
  struct Edge {
    static constexpr std::uint32_t congruence = 0xfffffffe;          // of the nodes, arguments in the same order
    static constexpr std::uint32_t swapped_congruence = 0xfffffffd;  // the two arguments exchanged
    static constexpr std::uint32_t premise = 0xfffffffc;             // equal by what the caller knows
    EClassId to = no_id;
    std::uint32_t reason = no_id;
  };
  const Edge& edge(EClassId id) const { return edges_[id]; }
  const algebra::Library& library() const { return *library_; }
  SizeTable& size_table() const { return *sizes_; }

 private:
  struct ClassData {
    ENodeId node = no_id;
    std::uint32_t output = 0;  // of a variable: its tag
    EClassId next = no_id;     // circular list of the class's ids
    // Of a canonical id:
    ShapeId shape{};
    std::uint32_t min_term_size = 0;
    ENodeId min_term_node = no_id;
    std::uint32_t last_use = no_id;  // circular list of argument slots that use the class
    std::uint32_t members = 1;
    std::uint32_t changed_at = 0;
    bool constant = false;
  };
  struct NodeData {
    algebra::InstanceId instance{};
    std::uint32_t first_argument = 0, arguments = 0, first_size = 0, sizes = 0, first_output = 0, outputs = 0;
    ENodeId same_as = no_id;  // of a duplicate: the node that it equals
    std::uint32_t added_at = 0;
    bool commutative = false;
  };

  std::span<const std::uint32_t> key(algebra::InstanceId instance, std::span<const EClassId> arguments,
                                     std::span<const SizeId> sizes, bool commutative);
  ENodeId representative(ENodeId node) const;
  void add_use(EClassId argument, std::uint32_t slot);
  void merge_congruent(ENodeId node, ENodeId earlier);
  void link_proof(EClassId a, EClassId b, std::uint32_t reason);
  std::uint32_t term_size(ENodeId node) const;

  const algebra::Library* library_;
  SizeTable* sizes_;
  mutable std::vector<EClassId> parent_;
  std::vector<ClassData> classes_;
  std::vector<Edge> edges_;
  std::vector<NodeData> nodes_;
  std::vector<EClassId> arguments_;
  std::vector<SizeId> node_sizes_;
  std::vector<std::uint32_t> next_use_;  // by argument slot
  std::vector<ENodeId> node_of_slot_;    // by argument slot
  KeyTable by_key_;
  std::vector<EClassId> pending_;  // classes whose users must be checked for congruence
  std::vector<std::vector<ENodeId>> by_instance_;
  std::vector<algebra::InstanceId> instances_;
  std::uint32_t class_count_ = 0;
  std::uint32_t now_ = 0;
  std::vector<std::uint32_t> key_;
  std::vector<ShapeId> shapes_;
};

}  // namespace rulemill::egraph
