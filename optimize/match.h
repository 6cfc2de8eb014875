// Rules applied to model graphs. A pattern is one direction of a rule; it matches where its source's structure, the
// types of its variables and its condition fit for sure, and its target types. Inner nodes of a match that others use
// stay.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "algebra/terms/typing.h"
#include "optimize/graph.h"
#include "optimize/positives.h"

namespace rulemill::optimize {

struct Pattern {
  std::uint32_t rule = 0;  // position in the rule set
  bool reversed = false;
  std::vector<algebra::TermId> source, target;
};

/// Every direction of every rule that can be matched: no side of the source is a bare variable, be it of positives,
/// which no other terms speak of (positives.h), the target's variables occur in the source, and outputs of the source
/// that do not share a variable with the others are left out.
std::vector<Pattern> patterns_of(const std::vector<algebra::RuleRecord>& rules, const algebra::TermBank& terms);

/// What a pattern's source stands for in the graph. Short lists, searched from the front.
struct Match {
  /// Variables and results, by pattern term; of positive(c) both it and c, which has its type.
  std::vector<std::pair<algebra::TermId, ValueId>> terms;
  std::vector<std::pair<algebra::NodeId, NodeId>> nodes;
};

/// A match with what to put in its place.
struct Rewrite {
  std::uint32_t pattern = 0;
  std::vector<std::pair<ValueId, ValueId>> replacements;  // old result, new result
  std::vector<NodeId> matched;                            // nodes that the source covers
  std::vector<NodeId> made;                               // nodes of the target, new or not
};

class Matcher {
 public:
  Matcher(GraphBank& bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules);

  const std::vector<Pattern>& patterns() const { return patterns_; }
  /// Every rewrite of the graph whose matched nodes include one of `near`; every one if `near` is empty. In a fixed
  /// order.
  std::vector<Rewrite> rewrites(std::span<const ValueId> outputs, std::span<const NodeId> near);
  /// Drops what was remembered of graphs so far; others are not slower for it.
  void forget();

 private:
  struct Root {
    std::uint32_t pattern = 0;
    std::uint32_t number = 0;  // which of the source's outputs
  };
  const std::vector<Match>& matches(std::uint32_t pattern, std::uint32_t number, ValueId value);
  void extend(algebra::TermId pattern, ValueId value, const Match& match, std::vector<Match>& found);
  void extend_arguments(const std::vector<algebra::TermId>& patterns, const std::vector<ValueId>& values,
                        const Match& match, std::vector<Match>& found);
  std::vector<Match> join(std::uint32_t pattern, std::span<const NodeId> nodes);
  std::optional<algebra::Substitution> sizes(const Pattern& pattern, const Match& match) const;
  std::optional<Rewrite> instantiate(std::uint32_t pattern, const Match& match);
  std::optional<ValueId> build(algebra::TermId term, const algebra::Substitution& sizes,
                               std::unordered_map<algebra::TermId, ValueId>& built, std::vector<NodeId>& made);

  GraphBank* bank_;
  const algebra::TermBank* terms_;
  const std::vector<algebra::RuleRecord>* rules_;
  std::vector<Pattern> patterns_;
  Positives positives_;
  std::map<algebra::InstanceId, std::vector<Root>> roots_;  // by the instance at the top of an output of the source
  // By pattern, output of the source, and value: what was found holds for every graph that has the value.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unordered_map<ValueId, std::vector<Match>>> found_;
  std::map<std::uint32_t, std::unordered_map<ValueId, std::vector<Rewrite>>> single_;
};

}  // namespace rulemill::optimize
