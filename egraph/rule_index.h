// Compiled rules, with an index from what their directions need to the directions. A direction needs operator instances
// that its nodes match, and edges: an argument of a node whose class has an output of a node of another instance.
#pragma once

#include <cstdint>
#include <vector>

#include "egraph/class_index.h"
#include "egraph/key_table.h"
#include "egraph/pattern.h"

namespace rulemill::egraph {

/// One direction of a rule: its number in the rule's `directions`.
struct DirectionId {
  std::uint32_t rule = 0, index = 0;
  auto operator<=>(const DirectionId&) const = default;
};

/// The rules that a saturation applies, phase by phase. Most goals need the first phase only.
enum class RulePhase : std::uint8_t {
  Small,      // rules of few operators
  All,        // all but those of the last phase
  Expanding,  // also rules whose right side has more nodes than the left and uses an operator instance that is
              // not in the e-graph yet
};

class RuleIndex {
 public:
  /// The needs of the index's directions that are met in one e-graph.
  class MetNeeds {
   public:
    void clear();

   private:
    friend RuleIndex;
    bool has(std::uint32_t need) const { return need < is_met_.size() && is_met_[need]; }
    void add(std::uint32_t need);

    std::vector<bool> is_met_;           // by need
    std::vector<std::uint32_t> needs_;   // those that are met
    std::uint32_t updated_at_ = 0;       // the e-graph's time
    std::uint32_t known_instances_ = 0;  // of the e-graph
  };

  std::uint32_t add(CompiledRule rule);
  /// Removes all rules but the first `count`.
  void truncate(std::uint32_t count);
  void enable(std::uint32_t rule, bool enabled) { enabled_[rule] = enabled; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(rules_.size()); }
  const CompiledRule& rule(std::uint32_t number) const { return rules_[number]; }

  /// Adds the needs that are met since the last update or since `met` was cleared. `classes` is the index of the
  /// e-graph, which has no change since its time `now`.
  void update(const EGraph& egraph, const ClassIndex& classes, std::uint32_t now, MetNeeds& met) const;
  /// The enabled directions of the phase whose needs are met, in rule order. Others have no matches.
  void find_applicable(const MetNeeds& met, RulePhase phase, std::vector<DirectionId>& result) const;

 private:
  using Need = std::uint32_t;
  /// Directions with equal needs, in rule order.
  struct Group {
    bool small = false;                         // applied in all phases
    std::vector<Need> needs, unless_expanding;  // to match; also needed, except in the last phase
    std::vector<DirectionId> directions;
  };

  Need need_of_instance(algebra::InstanceId instance);
  /// Appends the needs of a direction's matches.
  void add_needs(const CompiledRule& rule, const Direction& direction, std::vector<Need>& needs);
  Group& group_of(bool small, std::vector<Need> needs, std::vector<Need> unless_expanding);
  void update_edges(const EGraph& egraph, const ClassIndex& classes, ENodeId node, std::uint32_t since,
                    MetNeeds& met) const;

  std::vector<CompiledRule> rules_;
  std::vector<bool> enabled_;
  KeyTable needs_, groups_by_needs_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::uint32_t>> groups_by_need_;  // each group is listed for one of its needs
  std::vector<bool> has_edges_;                             // by instance: whether it is the upper one of an edge
};

}  // namespace rulemill::egraph
