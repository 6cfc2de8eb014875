// When what a pattern sees below a node last changed: so that matching again looks at what is new alone (semi-naive
// evaluation, as in Datalog).
#pragma once

#include <cstdint>
#include <vector>

#include "egraph/egraph.h"

namespace rulemill::egraph {

class Recency {
 public:
  explicit Recency(const EGraph& egraph) : egraph_(egraph) {}

  /// To be called after a rebuild; what of() says holds until the next change of the e-graph.
  void look();
  /// The latest time at which the node was added, or one of the classes down to `depth` below it changed; 0: the node
  /// alone. Of a node that is no duplicate.
  std::uint32_t of(ENode node, std::uint32_t depth) {
    while (depth >= levels_) add_level();
    return nodes_[std::size_t{depth} * egraph_.node_count() + node];
  }

 private:
  void add_level();

  const EGraph& egraph_;
  std::uint32_t levels_ = 0;
  std::vector<std::uint32_t> nodes_;    // level after level, by node
  std::vector<std::uint32_t> classes_;  // by representative, of the last level
};

}  // namespace rulemill::egraph
