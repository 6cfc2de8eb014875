// The time of the last change below each e-node, for delta matching (semi-naive evaluation, as in Datalog).
#pragma once

#include <cstdint>
#include <vector>

#include "egraph/egraph.h"

namespace rulemill::egraph {

/// Times of changes by node and depth, computed on demand.
class DeltaIndex {
 public:
  explicit DeltaIndex(const EGraph& egraph) : egraph_(egraph) {}

  /// To be called after a rebuild. Times are valid until the next change of the e-graph.
  void refresh();
  /// The latest time at which the node was added or a class at most `depth` levels below it changed. The node must not
  /// be a duplicate.
  std::uint32_t last_change(ENodeId node, std::uint32_t depth) {
    while (depth >= levels_) add_level();
    return nodes_[std::size_t{depth} * egraph_.node_count() + node];
  }

 private:
  void add_level();

  const EGraph& egraph_;
  std::uint32_t levels_ = 0;
  std::vector<std::uint32_t> nodes_;    // all nodes of level 0, then of level 1, and so on
  std::vector<std::uint32_t> classes_;  // by canonical id, of the last level
};

}  // namespace rulemill::egraph
