// Visits the nodes with one primary argument in a fixed order: unary operators, then binary operators whose arguments
// share no node, then binary operators whose arguments share nodes, then operators with more arguments.
//
// Of all renamings of a node, one is visited. Let x, y, z be variables of one sort, so that relu(x) is canonical:
// - The primary argument is the one of the highest level, and a canonical term: relu(x), not relu(y).
// - sub(relu(x), y) and sub(relu(x), z) are renamings of each other by y ↔ z, which does not change relu(x). With the
//   primary argument relu(x), the other argument is the smallest of its orbit under the stabilizer of relu(x).
// - The other argument may be on either side: sub(relu(x), y) and sub(y, relu(x)) are two nodes. If it is a renaming of
//   the primary argument, they are one node: sub(relu(y), relu(x)) is sub(relu(x), relu(y)) under x ↔ y.
// - With p = sub(x, y), add(p, sub(y, z)) is a renaming of add(p, sub(z, x)): the renaming that maps sub(y, z) to p
//   maps p to sub(z, x). The terms sub(y, z) and sub(z, x) are mirrors of each other. If the operator is commutative,
//   only the smaller one is visited.
#pragma once

#include <array>

#include "enumerate/levels/level_index.h"

namespace rulemill::enumerate {

/// A receiver of nodes. `row` is the number of the node's first term in the level; its outputs are consecutive rows.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  /// `arguments` are in the signature's order; those of a commutative operator are ascending.
  virtual void add_node(SignatureId signature, std::span<const TermId> arguments, std::uint64_t row) = 0;
};

/// The numbers of representatives of a level.
struct LevelCounts {
  std::uint64_t nodes = 0;
  std::uint64_t terms = 0;
};

/// The rows with the same primary argument.
struct RowBlock {
  TermId primary = no_id;  // no_id for constants
  std::uint64_t first_row = 0;
  std::uint64_t first_node = 0;
};

/// Enumerates the nodes of row blocks. It has buffers: use one walker per thread.
class NodeWalker {
 public:
  /// The index must outlive the walker.
  explicit NodeWalker(const LevelIndex& index)
      : index_(index), terms_(index.terms()), signatures_(index.signatures()) {}

  /// Counts the nodes and terms of the block, and marks the signatures that occur. Several walkers may share `used`.
  LevelCounts count(const RowBlock& block, std::span<std::uint8_t> used);
  /// Counts the nodes of the block whose first row is below `row`.
  std::uint64_t count_nodes(const RowBlock& block, std::uint64_t row);
  /// Passes the nodes with first row in [first, last) to the sink.
  void visit(const RowBlock& block, std::uint64_t first, std::uint64_t last, NodeSink& sink);

 private:
  /// Calls body(signature, arguments) for each node of the block.
  template <class Body>
  void for_each_node(const RowBlock& block, const Body& body);
  template <class Body>
  void for_each_binary_node(TermId primary, const Body& body);
  /// Visits the binary nodes with these two arguments, in both orders.
  template <class Body>
  void visit_pair(TermId primary, TermId other, const Body& body);
  /// Visits the nodes with more than two arguments, with the primary argument at each position.
  template <class Body>
  void for_each_nary_node(TermId primary, const Body& body);
  /// A node of which some arguments are chosen.
  struct PartialNode {
    std::uint32_t family = 0;
    std::uint32_t primary = 0;  // position of the primary argument
    std::array<TermId, max_arity> terms{};
  };
  /// Chooses arguments from position `next` on. `first`: only the primary argument is chosen so far.
  template <class Body>
  void choose_arguments(PartialNode& node, std::uint32_t next, bool first, const Body& body);
  /// Visits the signatures that accept the chosen arguments.
  template <class Body>
  void visit_completions(const PartialNode& node, const Body& body);
  /// Returns the number of nodes in the closures of the primary argument and the arguments before `next`.
  std::size_t nodes_below(const PartialNode& node, std::uint32_t next) const;

  /// In how many orders a primary and another argument are visited. None if the other one is the node's primary
  /// argument.
  enum class ArgumentOrders : std::uint8_t { None, One, Both };
  ArgumentOrders orders(TermId primary, TermId other) const;
  /// For two terms of one orbit: whether {primary, other} is a renaming of {primary, an earlier term}.
  bool is_mirror(TermId primary, TermId other) const;
  /// Finds the terms up to level `highest` that share a node with `nodes` and whose union with them has level − 1
  /// nodes. Sorted by id.
  void find_overlapping(std::span<const NodeId> nodes, std::uint32_t highest, std::vector<TermId>& found) const;
  /// The same for a term `t` with level − 1 nodes: finds the terms of the nodes in its closure.
  void find_below(TermId t, std::vector<TermId>& found) const;

  const LevelIndex& index_;
  const TermTable& terms_;
  const SignatureTable& signatures_;
  std::vector<TermId> overlapping_;
  std::vector<TermId> seen_;  // orbits of overlapping terms
};

}  // namespace rulemill::enumerate
