// The cheapest graph in a saturated e-graph. Each class gets one of its nodes; what is shared counts once, what is
// computed from constants costs nothing. First every class takes the node of the cheapest tree; then single choices are
// changed as long as the graph becomes cheaper. A node of several outputs is chosen for all its classes at once, which
// is what lets two products become one and a split. Small e-graphs may be solved exactly as well.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "egraph/egraph.h"
#include "optimize/exact_extraction.h"

namespace rulemill::optimize {

class Extraction {
 public:
  /// Where a chosen node stands: `argument` computes its first argument, for it alone, and `before` likewise that
  /// one's; `user` is the only one that uses it. Nothing where there is none.
  struct Place {
    egraph::ENode node, argument, before, user;
  };
  /// Seconds of a node that is not computed from constants alone: by itself, and in a graph.
  struct Price {
    std::function<double(egraph::ENode)> alone;
    std::function<double(const Place& place, double alone)> in_graph;
  };

  /// The e-graph is rebuilt and stays as it is; so does the price.
  Extraction(const egraph::EGraph& egraph, const Price& price);

  /// Chooses for the roots; at most `passes` times over all choices. Never dearer than the nodes before `original`,
  /// which are one graph for the roots.
  void choose(std::span<const egraph::Value> roots, egraph::ENode original, std::size_t passes);
  /// The same by integer programming, improved as well; taken if it is cheaper. False beyond the limits.
  bool choose_exactly(std::span<const egraph::Value> roots, const ExactLimits& limits, std::size_t passes);
  /// Seconds of what is chosen, by the costs of single nodes.
  double seconds() const { return seconds_; }
  /// What a class is computed by: nothing for a variable, which `value` is then.
  egraph::ENode node(egraph::Value value) const { return choice_[egraph_.find(value)]; }
  /// The variable of a class that has one.
  egraph::Value variable(egraph::Value value) const { return variable_[egraph_.find(value)]; }
  /// The chosen nodes that the roots need, arguments before users.
  std::vector<egraph::ENode> order(std::span<const egraph::Value> roots) const;

 private:
  using Choice = std::vector<egraph::ENode>;

  void choose_trees();
  bool visit(egraph::Value value, std::vector<egraph::ENode>& order) const;
  /// Of what is chosen now, in time that depends on the graph alone and not on the e-graph.
  std::optional<double> graph_seconds(std::span<const egraph::Value> roots) const;
  bool improve(std::span<const egraph::Value> roots);
  bool improve_by(egraph::ENode other, std::span<const egraph::Value> roots);
  void climb(std::span<const egraph::Value> roots, std::size_t passes);
  double price(const std::vector<egraph::ENode>& order, std::span<const egraph::Value> roots) const;

  const egraph::EGraph& egraph_;
  const Price& price_;
  std::vector<double> cost_;             // by node
  std::vector<egraph::Value> variable_;  // by class
  std::vector<double> tree_;             // by class: the cheapest tree
  Choice choice_;                        // by class
  double seconds_ = 0;
  /// Of the walk that came by last: numbers of other walks are out of date.
  struct Mark {
    std::uint32_t walk = 0;
    bool open = false;  // being visited
    std::uint32_t uses = 0;
    egraph::ENode user = egraph::nothing;  // one that uses it
  };
  mutable std::vector<Mark> marks_;          // by class
  mutable std::vector<std::uint32_t> seen_;  // by node: the last walk that has it in its order
  mutable std::uint32_t walk_ = 0;
};

}  // namespace rulemill::optimize
