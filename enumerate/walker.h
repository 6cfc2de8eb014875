// Visits the nodes of one primary argument in their fixed order: operators of one argument, then of two with arguments
// that share no node, then of two with arguments that share some, then of more.
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
  template <class Body>
  void fill(Places& places, std::uint32_t next, bool first, const Body& body);

  /// Whether the node is to be found at this primary: the other argument is not larger, nor earlier in its orbit's
  /// order.
  enum class Turn : std::uint8_t { No, Once, Both };
  Turn turn(TermId primary, TermId other) const;
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
