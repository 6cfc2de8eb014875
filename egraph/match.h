// Finds one side of a compiled rule in an e-graph, and says at which sizes the rule stands there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "egraph/class_index.h"
#include "egraph/pattern.h"
#include "egraph/recency.h"

namespace rulemill::egraph {

/// Where a side was found. A node is stored as 2·node + 1 if its two arguments stand the other way round, 2·node if
/// not.
struct Match {
  std::span<const Value> variables;      // by the rule's variable
  std::span<const std::uint32_t> found;  // by Direction::found
};

/// Matches of a direction on an e-graph that is rebuilt. One matcher serves many directions.
class Matcher {
 public:
  explicit Matcher(const EGraph& egraph) : egraph_(egraph), recency_(egraph) {}

  /// To be called after a rebuild, before the first run().
  void look() {
    classes_.build(egraph_);
    recency_.look();
  }
  /// Whether a first node may be a term over constants alone.
  void match_constants(bool allowed) { constants_ = allowed; }
  /// From now on so many nodes are tried, and nothing is found after that. Signals are heard on the way.
  void allow(std::uint32_t tries) { tries_left_ = tries; }
  bool is_exhausted() const { return tries_left_ == 0; }
  std::uint32_t tries_left() const { return tries_left_; }

  /// Appends one run of words a match to `into`: the variables' values, then the nodes. Those that were there before
  /// the e-graph's time `since` may be left out. Stops when `budget` runs out; every match takes one from it.
  void run(const CompiledRule& rule, const Direction& direction, std::uint32_t since, std::uint32_t& budget,
           std::vector<std::uint32_t>& into);

 private:
  void step(std::size_t index);
  bool is_fresh(const Step& scan, ENode node);
  void try_node(std::size_t index, ENode node);
  void try_arguments(std::size_t index, ENode node, bool swapped);
  bool assign(std::uint32_t reg, Value value, bool bound);

  const EGraph& egraph_;
  ClassIndex classes_;
  Recency recency_;
  std::uint32_t since_ = 0;
  bool fresh_ = false;  // something found so far is
  const CompiledRule* rule_ = nullptr;
  const Direction* direction_ = nullptr;
  bool constants_ = true;
  std::uint32_t* budget_ = nullptr;
  std::uint32_t tries_left_ = 0;
  std::vector<std::uint32_t>* into_ = nullptr;
  std::vector<Value> registers_;
  std::vector<std::uint32_t> found_;
};

/// Values of the rule's sizes at a match, by slot, or false if the types do not match or the condition does not hold
/// there.
class SizeBinder {
 public:
  explicit SizeBinder(SizeTable& sizes) : sizes_(sizes) {}

  bool bind(const CompiledRule& rule, const Direction& direction, const EGraph& egraph, const Match& match);
  std::span<const SizeId> values() const { return values_; }
  /// The size that the pattern stands for at the values bound last.
  SizeId evaluate(const SizePattern& pattern);
  /// Forgets solutions: rules or sizes have got other numbers.
  void clear();

 private:
  bool learn(const SizePattern& pattern, SizeId actual);
  bool solve(const CompiledRule& rule);
  std::optional<std::vector<SizeId>> solve_anew(const CompiledRule& rule) const;

  SizeTable& sizes_;
  std::vector<SizeId> values_;
  std::vector<bool> known_;
  std::vector<std::pair<const SizePattern*, SizeId>> compound_;
  std::vector<SizeId> operands_;
  KeyTable solutions_;  // rule, what is known → first of its sizes' values in solved_, or unsolvable
  std::vector<SizeId> solved_;
  std::vector<std::uint32_t> key_;
};

}  // namespace rulemill::egraph
