// Matches one side of a compiled rule in an e-graph, and solves for the rule's sizes at a match.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "egraph/class_index.h"
#include "egraph/egraph.h"
#include "egraph/pattern.h"

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

/// One match of a direction. A node is stored as 2·node + 1 if its two arguments match in swapped order, else as
/// 2·node.
struct Match {
  std::span<const EClassId> variables;           // by variable of the rule
  std::span<const std::uint32_t> matched_nodes;  // by Direction::matched_nodes
};

/// Finds the matches of directions in an e-graph that is rebuilt.
class Matcher {
 public:
  explicit Matcher(const EGraph& egraph) : egraph_(egraph), delta_(egraph) {}

  /// To be called after a rebuild, before the first run().
  void refresh() {
    classes_.build(egraph_);
    delta_.refresh();
  }
  /// The index of the e-graph's classes as of the last refresh.
  const ClassIndex& classes() const { return classes_; }
  /// Whether the first node may be a term over constants only.
  void set_match_constants(bool allowed) { match_constants_ = allowed; }
  /// Sets the number of nodes to visit, after which nothing is matched. Polls for interrupts.
  void set_node_visit_budget(std::uint32_t node_visits) { node_visits_left_ = node_visits; }
  bool is_exhausted() const { return node_visits_left_ == 0; }
  std::uint32_t node_visits_left() const { return node_visits_left_; }

  /// Appends one run of words per match to `result`: the variables' ids, then the nodes. Omits matches that existed
  /// before the e-graph's time `since`, as far as the delta index shows it. Each match takes one from `budget`; stops
  /// when it runs out.
  void run(const CompiledRule& rule, const Direction& direction, std::uint32_t since, std::uint32_t& budget,
           std::vector<std::uint32_t>& result);

 private:
  void match_from(std::size_t index);
  bool is_new(const PatternStep& scan, ENodeId node);
  void try_node(std::size_t index, ENodeId node);
  void try_arguments(std::size_t index, ENodeId node, bool swapped);
  bool assign(std::uint32_t reg, EClassId id, bool bound);

  const EGraph& egraph_;
  ClassIndex classes_;
  DeltaIndex delta_;
  std::uint32_t since_ = 0;
  bool has_new_node_ = false;  // of the nodes matched so far
  const CompiledRule* rule_ = nullptr;
  const Direction* direction_ = nullptr;
  bool match_constants_ = true;
  std::uint32_t* budget_ = nullptr;
  std::uint32_t node_visits_left_ = 0;
  std::vector<std::uint32_t>* result_ = nullptr;
  std::vector<EClassId> registers_;
  std::vector<std::uint32_t> matched_nodes_;
};

/// Computes the values of a rule's sizes at a match.
class SizeBinder {
 public:
  explicit SizeBinder(SizeTable& sizes) : sizes_(sizes) {}

  /// False if the types do not match or the condition does not hold.
  bool bind(const CompiledRule& rule, const Direction& direction, const EGraph& egraph, const Match& match);
  /// The values bound last, by slot.
  std::span<const SizeId> values() const { return values_; }
  /// Evaluates the pattern at the values bound last.
  SizeId evaluate(const SizePattern& pattern);
  /// Drops cached solutions. To be called when rules or sizes are renumbered.
  void clear();

 private:
  bool bind_size(const SizePattern& pattern, SizeId actual);
  bool solve(const CompiledRule& rule);
  std::optional<std::vector<SizeId>> solve_uncached(const CompiledRule& rule) const;

  SizeTable& sizes_;
  std::vector<SizeId> values_;
  std::vector<bool> known_;
  std::vector<std::pair<const SizePattern*, SizeId>> compound_;
  std::vector<SizeId> operands_;
  KeyTable solutions_;  // rule and known values → index of the first value in solved_sizes_, or unsolvable
  std::vector<SizeId> solved_sizes_;
  std::vector<std::uint32_t> key_;
};

}  // namespace rulemill::egraph
