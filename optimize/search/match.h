// Rules applied to model graphs. A pattern is one direction of a rule. It matches where the structure of its source and
// the types of its variables fit, its condition certainly holds, and its target is well-typed. Inner nodes of a match
// that have other users remain.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/rules/rule_set.h"
#include "algebra/terms/typing.h"
#include "optimize/model/graph.h"
#include "optimize/search/positivity.h"

namespace rulemill::optimize {

struct Pattern {
  std::uint32_t rule = 0;  // index in the rule set
  bool reversed = false;
  std::vector<algebra::TermId> source, target;
};

/// Returns the directions of the rules that can be matched: no term of the source is a variable, or positive(c) for a
/// variable c; positivity is restricted to variables (positivity.h); the target's variables occur in the source;
/// each term of the source shares a variable with earlier ones; and a rule that widens holds element by element: an
/// element of the source that is defined alone is that of the target, because both read one element of each variable.
std::vector<Pattern> compile_patterns(const std::vector<algebra::RuleRecord>& rules, const algebra::TermBank& terms);

/// The values and nodes that a pattern's source matches. The lists are short and searched from the front.
struct Match {
  /// Values by pattern term. For positive(c), both the term and c have the same value.
  std::vector<std::pair<algebra::TermId, ValueId>> terms;
  std::vector<std::pair<algebra::NodeId, NodeId>> nodes;
};

/// A match with its replacement.
struct Rewrite {
  std::uint32_t pattern = 0;
  std::vector<std::pair<ValueId, ValueId>> replacements;  // old result, new result
  std::vector<NodeId> matched;                            // nodes that the source covers
  std::vector<NodeId> target_nodes;                       // new or existing
};

class Matcher {
 public:
  Matcher(GraphBank& bank, const algebra::TermBank& terms, const std::vector<algebra::RuleRecord>& rules);

  const std::vector<Pattern>& patterns() const { return patterns_; }
  /// Returns the rewrites by equations, or by rules that widen, near these nodes if any are given, in a fixed order.
  std::vector<Rewrite> rewrites(std::span<const ValueId> outputs, std::span<const NodeId> near, bool widening = false);
  /// Frees the cached matches, which only graphs with common values can use.
  void clear_cache();

 private:
  struct Root {
    std::uint32_t pattern = 0;
    std::uint32_t number = 0;  // of the term of the source
  };
  const std::vector<Match>& matches(std::uint32_t pattern, std::uint32_t number, ValueId value);
  void extend(algebra::TermId pattern, ValueId value, const Match& match, std::vector<Match>& found);
  void extend_arguments(const std::vector<algebra::TermId>& patterns, const std::vector<ValueId>& values,
                        const Match& match, std::vector<Match>& found);
  std::vector<Match> join(std::uint32_t pattern, std::span<const NodeId> nodes);
  std::optional<algebra::Substitution> sizes(const Pattern& pattern, const Match& match) const;
  std::optional<Rewrite> instantiate(std::uint32_t pattern, const Match& match);
  std::optional<ValueId> build(algebra::TermId term, const algebra::Substitution& sizes, DataType real_type,
                               std::unordered_map<algebra::TermId, ValueId>& built, std::vector<NodeId>& target_nodes);

  GraphBank* bank_;
  const algebra::TermBank* terms_;
  const std::vector<algebra::RuleRecord>* rules_;
  std::vector<Pattern> patterns_;
  PositivityAnalysis positivity_;
  std::map<algebra::InstanceId, std::vector<Root>> roots_;  // by the instance of a term of the source
  // Caches, valid for every graph that contains the value: matches by pattern, term of the source and value; rewrites
  // by pattern with a single term and value.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unordered_map<ValueId, std::vector<Match>>> matches_;
  std::map<std::uint32_t, std::unordered_map<ValueId, std::vector<Rewrite>>> rewrites_;
};

}  // namespace rulemill::optimize
