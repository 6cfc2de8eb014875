// The rules reachable from a goal. A rule is reachable if every operator instance that it matches occurs in the goal or
// is created by a reachable rule. A derivation never uses other rules, so its answer depends only on the goal, the
// reachable rules and their order.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algebra/terms/term.h"
#include "prove/tasks/candidate_result.h"

namespace rulemill::prove {

class ReachableRules {
 public:
  explicit ReachableRules(algebra::Library& library) : library_(library) {}

  /// The operator instances of a rule.
  struct Operators {
    OperatorHashes all;
    std::vector<std::pair<OperatorHashes, OperatorHashes>> directions;  // matched, created (egraph/pattern.h)
  };
  /// Returns the operator instances without directions.
  static Operators operators_of_goal(const std::string& rule, algebra::Library& library);
  static Operators operators_of_rule(const std::string& rule, algebra::Library& library);

  /// Applies an add_rule_update() or a remove_rule_update().
  void update_rules(const std::string& update);
  void add(const std::string& rule, const Operators& operators);
  void remove(const std::string& update);
  /// Disables a rule, or enables it again.
  void enable(std::uint32_t rule, bool enabled) { rules_.at(rule).enabled = enabled; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(rules_.size()); }
  const std::string& text(std::uint32_t rule) const { return rules_.at(rule).text; }

  /// Numbers of operator instances, ascending.
  using Instances = std::vector<std::uint32_t>;
  Instances instances_of(const Operators& operators) { return numbers_of(operators.all); }
  Instances instances_of(const std::string& rule) { return instances_of(operators_of_goal(rule, library_)); }
  const Instances& instances_of(std::uint32_t rule) const { return rules_.at(rule).instances; }

  /// Returns the enabled rules reachable from a goal with these instances, ascending, without the rules of
  /// [excluded_begin, excluded_end).
  std::vector<std::uint32_t> reachable_from(const Instances& goal, std::uint32_t excluded_begin,
                                            std::uint32_t excluded_end);

 private:
  struct Rule {
    std::string text;
    Instances instances;
    bool enabled = true;
  };
  /// A direction of a rule: once all `matched` instances are present, the `created` ones can be.
  struct Direction {
    std::uint32_t rule = 0, matched = 0;  // matched: a count
    Instances created;
  };
  Instances numbers_of(const OperatorHashes& hashes);

  algebra::Library& library_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of instances, by hash
  std::vector<Rule> rules_;
  std::vector<Direction> directions_;
  std::vector<std::vector<std::uint32_t>> matching_;  // by instance: the directions that match it
};

}  // namespace rulemill::prove
