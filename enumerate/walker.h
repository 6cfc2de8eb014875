// Visits the nodes of one primary argument in their fixed order: operators of one argument, then of two with arguments
// that share no node, then of two with arguments that share some, then of more.
//
// Of all renamings of a node one is visited. Say x, y, z are variables of one sort, so that relu(x) is canonical:
// - The primary is the argument of the highest level, and a canonical term: relu(x), never relu(y).
// - sub(relu(x), y) and sub(relu(x), z) are renamings of each other by y ↔ z, which leaves relu(x) alone: beside
// relu(x),
//   the smallest term of an orbit under such renamings (its stabilizer's) stands for the others.
// - The other argument may stand on either side: sub(relu(x), y) and sub(y, relu(x)) are two nodes. If it is a renaming
//   of the primary, they are one: sub(relu(y), relu(x)) is sub(relu(x), relu(y)) under x ↔ y.
// - Beside p = sub(x, y), add(p, sub(y, z)) is add(p, sub(z, x)) renamed: what takes sub(y, z) to p takes p to sub(z,
// x).
//   Such a pair are mirrors of each other; the smaller is visited where the operator is commutative.
#pragma once

#include "enumerate/enumerator.h"

namespace rulemill::enumerate {

class Enumerator::Walker {
 public:
  explicit Walker(const Enumerator& owner) : owner_(owner), terms_(owner.terms_), signatures_(owner.signatures_) {}

  /// Nodes and terms of the unit; notes the signatures that occur.
  LevelCounts count(const Unit& unit);
  /// Nodes of the unit whose first row is below `row`.
  std::uint64_t count_nodes(const Unit& unit, std::uint64_t row);
  /// Shows the nodes with first row in [first, last) to the sink.
  void visit(const Unit& unit, std::uint64_t first, std::uint64_t last, NodeSink& sink);

 private:
  /// body(signature, arguments) for each node of the unit.
  template <class Body>
  void each_node(const Unit& unit, const Body& body);
  template <class Body>
  void each_binary(TermId primary, const Body& body);
  /// Both places of a second argument that may stand beside the primary.
  template <class Body>
  void beside(TermId primary, TermId other, const Body& body);
  /// Families of more than two arguments, the primary at each place.
  template <class Body>
  void each_long(TermId primary, const Body& body);
  struct Places {
    std::uint32_t family = 0;
    std::uint32_t primary = 0;  // place of the primary
    std::array<TermId, max_arity> terms{};
  };
  /// Terms for the places from `next` on; `first`: none but the primary is chosen.
  template <class Body>
  void fill(Places& places, std::uint32_t next, bool first, const Body& body);
  /// The signatures that take what was chosen.
  template <class Body>
  void complete(const Places& places, const Body& body);
  /// Nodes below the primary and the terms in front of place `next`.
  std::size_t nodes_below(const Places& places, std::uint32_t next) const;

  /// In which orders a primary and another argument are visited here: in none if the other is the node's primary.
  enum class Orders : std::uint8_t { None, One, Both };
  Orders orders(TermId primary, TermId other) const;
  /// For two terms of one orbit: whether {primary, other} is a renaming of {primary, an earlier one}.
  bool is_mirror(TermId primary, TermId other) const;
  /// Terms not above `highest` that share a node with `nodes`, their union having exactly level − 1 nodes; in id order.
  void find_overlapping(std::span<const NodeId> nodes, std::uint32_t highest, std::vector<TermId>& found) const;
  /// The same where `t` has all the nodes that there may be: the terms of the nodes below it.
  void find_below(TermId t, std::vector<TermId>& found) const;

  const Enumerator& owner_;
  const TermTable& terms_;
  const SignatureTable& signatures_;
  std::vector<TermId> overlapping_;
  std::vector<TermId> seen_;  // orbits of overlapping terms
};

}  // namespace rulemill::enumerate
