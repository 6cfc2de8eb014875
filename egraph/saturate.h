// Equality saturation: applies rules to an e-graph until the goals are equal, nothing changes, or a limit is reached.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "egraph/limits.h"
#include "egraph/match.h"
#include "egraph/rule_index.h"

namespace rulemill::egraph {

/// One application of a rule that merged classes: the reason on an edge of the proof forest.
struct Application {
  DirectionId direction;
  std::uint32_t first_word = 0;  // variables, sizes by slot, matched nodes, applier nodes; nodes as in Match
};

/// Runs of saturation on one e-graph.
class Saturation {
 public:
  enum class StopReason : std::uint8_t { GoalReached, Saturated, IterationLimit, NodeLimit, MatchLimit };
  struct Counts {
    std::uint32_t iterations = 0, matches = 0;
  };

  Saturation(const RuleIndex& rules, EGraph& egraph)
      : rules_(rules), egraph_(egraph), matcher_(egraph), binder_(egraph.size_table()) {}

  /// Runs until every pair of `goals` is equal (if there are any), the e-graph is saturated, or a limit is reached.
  /// Builds no term of more than `max_operators` operators.
  StopReason run(std::span<const std::pair<EClassId, EClassId>> goals, std::uint32_t max_operators,
                 const Limits& limits);
  const Counts& counts() const { return counts_; }
  /// Drops solutions cached by earlier runs. To be called when rules or sizes are renumbered.
  void clear_cache() { binder_.clear(); }

  const RuleIndex& rules() const { return rules_; }
  const Application& application(std::uint32_t number) const { return applications_[number]; }
  std::span<const std::uint32_t> words(const Application& application) const {
    return std::span(words_).subspan(application.first_word);
  }

 private:
  enum class ApplyResult : std::uint8_t { Inapplicable, TooLarge, AlreadyEqual, Merged };
  /// The content of a register before anything is added: an id, or the type and size of a term that does not exist yet.
  struct PlannedTerm {
    EClassId id = no_id;
    ShapeId shape{};
    std::uint32_t min_size = 0;
    std::uint32_t node = 0;  // of the rule
  };

  bool is_reached(std::span<const std::pair<EClassId, EClassId>> goals) const;
  bool find_matches(RulePhase phase, const Limits& limits);
  bool is_new(DirectionId id, const Match& match);
  void postpone(DirectionId id, const Match& match);
  ApplyResult apply(DirectionId id, const Match& match, std::uint32_t max_operators);
  ApplyResult plan_right_side(const CompiledRule& rule, const Direction& direction, std::uint32_t max_operators);
  bool plan_node(const CompiledRule& rule, std::uint32_t index, std::uint32_t max_operators, ApplyResult& refusal);
  std::uint32_t count_distinct_operators(const CompiledRule& rule, const PlannedTerm& term);
  std::uint32_t count_operators(const CompiledRule& rule, const PlannedTerm& term);
  std::uint32_t count_operators(EClassId id);
  void evaluate_sizes(const PatternNode& node);
  void build_right_side(const CompiledRule& rule, const Direction& direction);

  const RuleIndex& rules_;
  EGraph& egraph_;
  Matcher matcher_;
  SizeBinder binder_;
  Counts counts_;
  std::vector<Application> applications_;
  std::vector<std::uint32_t> words_;
  std::uint32_t max_growth_over_class_ = 0;
  KeyTable seen_matches_;
  RuleIndex::MetNeeds met_needs_;
  std::vector<DirectionId> directions_;
  /// Matches as consecutive runs of words, and the number of runs of each direction.
  struct Matches {
    std::vector<std::uint32_t> words;
    std::vector<std::pair<DirectionId, std::uint32_t>> counts;
    void clear() {
      words.clear();
      counts.clear();
    }
  };
  Matches matches_;    // to be applied in this iteration
  Matches postponed_;  // too large; retried in the next iteration: a term may be smaller or exist by then
  /// By rule and direction: the e-graph's time of the last exhaustive search.
  std::vector<std::array<std::uint32_t, 2>> searched_at_;
  std::uint32_t matches_left_ = 0, node_visits_left_ = 0;
  std::vector<PlannedTerm> planned_;
  std::uint32_t count_number_ = 0;                 // of the current count of operators
  std::vector<std::uint32_t> visited_;             // by e-node: the last count that visited it
  std::vector<std::uint32_t> visited_rule_nodes_;  // by node of the rule: the last count that visited it
  std::vector<EClassId> arguments_;
  std::vector<ShapeId> argument_shapes_;
  std::vector<SizeId> node_sizes_;
  std::vector<std::uint32_t> applier_nodes_;
  std::vector<std::uint32_t> key_;
};

}  // namespace rulemill::egraph
