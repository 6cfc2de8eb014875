// Equality saturation: applies rules to an e-graph until the goals are equal, nothing new comes, or a limit is reached.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "egraph/derive.h"
#include "egraph/match.h"

namespace rulemill::egraph {

/// The rules in use, with an index from operator instance to the directions that begin with it.
class RuleIndex {
 public:
  struct Use {
    std::uint32_t rule = 0, direction = 0;
    auto operator<=>(const Use&) const = default;
  };

  std::uint32_t add(CompiledRule rule);
  /// Takes out the last rules, so that `count` are left.
  void truncate(std::uint32_t count);
  void enable(std::uint32_t rule, bool enabled) { enabled_[rule] = enabled; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(rules_.size()); }
  const CompiledRule& rule(std::uint32_t number) const { return rules_[number]; }
  /// What may be used: each step more than the one before. Most goals need no more than the first.
  enum class Reach : std::uint8_t {
    Small,  // rules of few operators
    All,
    Bold,  // also where the right side has more nodes than the left and an instance that does not occur
  };
  /// Directions within reach whose found nodes are of instances that occur, in the rules' order.
  void applicable(const EGraph& egraph, Reach reach, std::vector<Use>& into) const;

 private:
  std::vector<CompiledRule> rules_;
  std::vector<bool> enabled_;
  std::vector<std::vector<Use>> by_instance_;
};

/// One use of a rule that made values equal: the reason on an edge of the proof forest.
struct Application {
  RuleIndex::Use use;
  std::uint32_t first_word = 0;  // variables, sizes by slot, found nodes, built nodes; nodes as in Match
};

class Saturation {
 public:
  enum class Outcome : std::uint8_t { Reached, Saturated, IterationLimit, NodeLimit, MatchLimit };
  struct Counts {
    std::uint32_t iterations = 0, matches = 0;
  };

  Saturation(const RuleIndex& rules, EGraph& egraph)
      : rules_(rules), egraph_(egraph), matcher_(egraph), binder_(egraph.size_table()) {}

  /// Runs until every pair of `goals` is equal (never, if there is none). No term larger than `largest` operators is
  /// built.
  Outcome run(std::span<const std::pair<Value, Value>> goals, std::uint32_t largest, const Limits& limits);
  const Counts& counts() const { return counts_; }
  /// Forgets what it remembers of earlier runs: rules or sizes have got other numbers.
  void forget() { binder_.clear(); }

  const RuleIndex& rules() const { return rules_; }
  const Application& application(std::uint32_t number) const { return applications_[number]; }
  std::uint32_t application_count() const { return static_cast<std::uint32_t>(applications_.size()); }
  std::span<const std::uint32_t> words(const Application& application) const {
    return std::span(words_).subspan(application.first_word);
  }

 private:
  enum class Result : std::uint8_t { Refused, TooLarge, NothingNew, United };
  /// What a register of the right side holds before anything is added: a value, or the type and size of one to come.
  struct Planned {
    Value value = nothing;
    ShapeId shape{};
    std::uint32_t smallest = 0;
    std::uint32_t node = 0;  // of the rule
  };

  bool reached(std::span<const std::pair<Value, Value>> goals) const;
  bool find_matches(const Limits& limits);
  bool is_new(RuleIndex::Use use, const Match& match);
  void postpone(RuleIndex::Use use, const Match& match);
  Result apply(RuleIndex::Use use, const Match& match, std::uint32_t largest);
  Result plan(const CompiledRule& rule, const Direction& direction, std::uint32_t largest);
  bool plan_node(const CompiledRule& rule, std::uint32_t index, std::uint32_t largest, Result& refusal);
  std::uint32_t count_operators_once(const CompiledRule& rule, const Planned& term);
  std::uint32_t count_operators(const CompiledRule& rule, const Planned& term);
  std::uint32_t count_operators(Value value);
  void evaluate_sizes(const PatternNode& node);
  void build(const CompiledRule& rule, const Direction& direction);

  const RuleIndex& rules_;
  EGraph& egraph_;
  Matcher matcher_;
  SizeBinder binder_;
  Counts counts_;
  std::vector<Application> applications_;
  std::vector<std::uint32_t> words_;
  std::uint32_t growth_ = 0;
  KeyTable known_;  // matches that were found
  std::vector<RuleIndex::Use> uses_;
  /// Matches, run after run of words, and how many runs of each use.
  struct Matches {
    std::vector<std::uint32_t> words;
    std::vector<std::pair<RuleIndex::Use, std::uint32_t>> counts;
    void clear() {
      words.clear();
      counts.clear();
    }
  };
  Matches matches_;    // to be applied in this iteration
  Matches too_large_;  // to be tried again in the next: a term may be smaller then, or a part of the right side there
  /// By rule and direction: the e-graph's time of the last whole look.
  std::vector<std::array<std::uint32_t, 2>> matched_at_;
  std::uint32_t matches_left_ = 0, tries_left_ = 0;
  std::vector<Planned> planned_;
  std::uint32_t search_ = 0;                    // numbers the counts of operators
  std::vector<std::uint32_t> counted_;          // by e-node: the last count that met it
  std::vector<std::uint32_t> counted_in_rule_;  // by node of the rule: likewise
  std::vector<Value> arguments_;
  std::vector<ShapeId> argument_shapes_;
  std::vector<SizeId> node_sizes_;
  std::vector<std::uint32_t> built_;
  std::vector<std::uint32_t> key_;
};

}  // namespace rulemill::egraph
