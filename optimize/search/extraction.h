// Extraction of the cheapest graph of a saturated e-graph. Each class selects one of its nodes; shared nodes count
// once, and nodes on constants are free. Starting from the cheapest trees, single selections are changed while the
// graph becomes cheaper. A node with several outputs is selected for all its classes at once, so that two products can
// become one and a split. Small e-graphs can also be extracted by integer programming.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "egraph/egraph.h"
#include "optimize/search/ilp_extraction.h"

namespace rulemill::optimize {

class Extraction {
 public:
  /// A selected node with its neighbors: `argument` computes its first argument and has no other user, `before` is the
  /// same for `argument`, and `user` is the only user of the node. no_id if there is none. `graph` has the graph that
  /// is priced.
  struct NodeContext {
    egraph::ENodeId node, argument, before, user;
    const Extraction& graph;
  };
  /// Seconds of a node that is not computed from constants only: without its neighbors, and within a graph.
  struct NodePrices {
    std::function<double(egraph::ENodeId)> isolated;
    std::function<double(const NodeContext& context, double isolated)> in_graph;
  };

  /// The e-graph must be rebuilt. It and the prices must not change during the extraction.
  Extraction(const egraph::EGraph& egraph, const NodePrices& prices);

  /// Selects nodes for the roots, with at most `passes` improvement passes. The result costs at most as much as the
  /// nodes with ids below `original_end`, which form a graph for the roots.
  void extract(std::span<const egraph::EClassId> roots, egraph::ENodeId original_end, std::size_t passes);
  /// Extracts by integer programming, improves the result, and uses it if it is cheaper. Returns false if a limit was
  /// exceeded.
  bool extract_with_ilp(std::span<const egraph::EClassId> roots, const IlpLimits& limits, std::size_t passes);
  /// Returns the cost of the selected graph.
  double seconds() const { return seconds_; }
  /// Returns the selected node of a class; no_id for a class with a variable.
  egraph::ENodeId node(egraph::EClassId value) const { return selection_[egraph_.find(value)]; }
  /// Returns the variable of a class; no_id if it has none.
  egraph::EClassId variable(egraph::EClassId value) const { return variable_[egraph_.find(value)]; }
  /// Returns how often the graph that is priced uses a class.
  std::uint32_t uses(egraph::EClassId value) const { return marks_[egraph_.find(value)].uses; }
  /// Returns the selected nodes that the roots depend on, arguments before users.
  std::vector<egraph::ENodeId> order(std::span<const egraph::EClassId> roots) const;

 private:
  using Selection = std::vector<egraph::ENodeId>;

  void select_cheapest_trees();
  void select(egraph::ENodeId node);
  bool visit(egraph::EClassId value, std::vector<egraph::ENodeId>& order) const;
  /// Returns the cost of the selection; nullopt if it is cyclic or incomplete. The time depends on the size of the
  /// graph, not of the e-graph.
  std::optional<double> graph_seconds(std::span<const egraph::EClassId> roots) const;
  double graph_price(const std::vector<egraph::ENodeId>& order, std::span<const egraph::EClassId> roots) const;
  void hill_climb(std::span<const egraph::EClassId> roots, std::size_t passes);
  bool improve(std::span<const egraph::EClassId> roots);
  bool select_if_cheaper(egraph::ENodeId other, std::span<const egraph::EClassId> roots);

  const egraph::EGraph& egraph_;
  const NodePrices& prices_;
  std::vector<double> cost_;                // by node
  std::vector<egraph::EClassId> variable_;  // by class
  std::vector<double> tree_seconds_;        // by class: cost of the cheapest tree
  Selection selection_;                     // by class
  double seconds_ = 0;
  /// State of a class in a traversal; outdated if the traversal's number differs.
  struct Mark {
    std::uint32_t traversal = 0;
    bool open = false;  // being visited
    std::uint32_t uses = 0;
    egraph::ENodeId user = egraph::no_id;  // the last user seen
  };
  mutable std::vector<Mark> marks_;             // by class
  mutable std::vector<std::uint32_t> ordered_;  // by node: the last traversal that added it to its order
  mutable std::uint32_t traversal_ = 0;
};

}  // namespace rulemill::optimize
