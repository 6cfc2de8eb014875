// Visits the nodes of one unit of a level in their fixed order.
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
  /// body(block, lanes) for each block of the unit's group with any lane.
  template <class Body>
  void each_block(const Unit& unit, const Body& body);
  /// body(signature, arguments) for each node of a sparse unit.
  template <class Body>
  void each_sparse(const Unit& unit, const Body& body);

  std::span<const TermId> fixed(const Unit& unit) const {
    return std::span(owner_.prefixes_).subspan(unit.prefix, unit.fixed);
  }
  /// Extended terms that share a node with `nodes`, their union having exactly level − 1 nodes; in id order.
  void find_overlapping(std::span<const NodeId> nodes, std::uint32_t lowest_level);
  bool lane_fits(const Signature& signature, const Unit& unit, TermId t, std::span<const NodeId> below) const;

  const Enumerator& owner_;
  const TermTable& terms_;
  const SignatureTable& signatures_;
  std::vector<TermId> overlapping_;
};

}  // namespace rulemill::enumerate
