#include "egraph/saturate.h"

#include <algorithm>

#include "runtime/process/interrupt.h"
#include "runtime/text/error.h"

namespace rulemill::egraph {

bool Saturation::is_reached(std::span<const std::pair<EClassId, EClassId>> goals) const {
  return !goals.empty() &&
         std::ranges::all_of(goals, [&](const auto& goal) { return egraph_.are_equal(goal.first, goal.second); });
}

/// Records the match. False if it was recorded before.
bool Saturation::is_new(DirectionId id, const Match& match) {
  key_.assign({id.rule, id.index});
  key_.insert(key_.end(), match.matched_nodes.begin(), match.matched_nodes.end());
  for (const PatternStep& step : rules_.rule(id.rule).directions[id.index].steps) {
    if (step.kind == PatternStep::Kind::Variable) key_.push_back(egraph_.find(match.variables[step.from]));
  }
  return seen_matches_.insert(key_, 0).second;
}

void Saturation::postpone(DirectionId id, const Match& match) {
  if (postponed_.counts.empty() || postponed_.counts.back().first != id) postponed_.counts.emplace_back(id, 0);
  ++postponed_.counts.back().second;
  postponed_.words.insert(postponed_.words.end(), match.variables.begin(), match.variables.end());
  postponed_.words.insert(postponed_.words.end(), match.matched_nodes.begin(), match.matched_nodes.end());
}

/// Appends the matches of the phase's directions that may be new since their last exhaustive search. False if a limit
/// of one direction was reached, so that matches may be missing.
bool Saturation::find_matches(RulePhase phase, const Limits& limits) {
  const std::uint32_t now = egraph_.tick();
  bool exhaustive = true;
  matcher_.refresh();
  rules_.update(egraph_, matcher_.classes(), now, met_needs_);
  rules_.find_applicable(met_needs_, phase, directions_);
  for (const DirectionId id : directions_) {
    std::uint32_t& searched_at = searched_at_[id.rule][id.index];
    const std::uint32_t match_budget = std::min(matches_left_, limits.matches_per_rule);
    std::uint32_t left = match_budget;
    const std::uint32_t visit_budget = std::min(node_visits_left_, limits.node_visits_per_rule);
    matcher_.set_node_visit_budget(visit_budget);
    const CompiledRule& rule = rules_.rule(id.rule);
    matcher_.run(rule, rule.directions[id.index], searched_at, left, matches_.words);
    if (left == 0 || matcher_.is_exhausted())
      exhaustive = false;
    else
      searched_at = now;
    if (left != match_budget) matches_.counts.emplace_back(id, match_budget - left);
    matches_left_ -= match_budget - left;
    node_visits_left_ -= visit_budget - matcher_.node_visits_left();
  }
  return exhaustive;
}

Saturation::StopReason Saturation::run(std::span<const std::pair<EClassId, EClassId>> goals,
                                       std::uint32_t max_operators, const Limits& limits) {
  counts_ = {};
  applications_.clear();
  words_.clear();
  seen_matches_.clear();
  postponed_.clear();
  met_needs_.clear();
  searched_at_.assign(rules_.size(), {});
  matcher_.set_match_constants(limits.rewrite_constants);
  max_growth_over_class_ = limits.max_growth_over_class;
  egraph_.rebuild();
  if (is_reached(goals)) return StopReason::GoalReached;
  matches_left_ = limits.matches;
  node_visits_left_ = limits.node_visits;
  auto phase = RulePhase::Small;
  for (std::uint32_t iterations = 0; iterations < limits.iterations; ++iterations) {
    ++counts_.iterations;
    runtime::throw_if_interrupted("derivation");
    std::swap(matches_, postponed_);
    postponed_.clear();
    const std::size_t postponed_runs = matches_.counts.size();
    const bool exhaustive = find_matches(phase, limits);
    counts_.matches = limits.matches - matches_left_;
    bool changed = false;
    std::span<const std::uint32_t> rest = matches_.words;
    for (std::size_t run = 0; run < matches_.counts.size(); ++run) {
      const auto& [id, count] = matches_.counts[run];
      const CompiledRule& rule = rules_.rule(id.rule);
      const std::size_t variables = rule.variables.size(),
                        matched_nodes = rule.directions[id.index].matched_nodes.size();
      for (std::uint32_t i = 0; i < count; ++i) {
        const Match match{rest.first(variables), rest.subspan(variables, matched_nodes)};
        rest = rest.subspan(variables + matched_nodes);
        if (run >= postponed_runs && !is_new(id, match)) continue;
        const ApplyResult result = apply(id, match, max_operators);
        if (result == ApplyResult::TooLarge) postpone(id, match);
        if (result != ApplyResult::Merged) continue;
        changed = true;
        if (is_reached(goals)) return StopReason::GoalReached;
        if (egraph_.node_count() > limits.nodes) return StopReason::NodeLimit;
      }
    }
    egraph_.rebuild();
    if (is_reached(goals)) return StopReason::GoalReached;
    if (matches_left_ == 0 || node_visits_left_ == 0) return StopReason::MatchLimit;
    if (changed) continue;
    if (phase == RulePhase::Expanding) return exhaustive ? StopReason::Saturated : StopReason::MatchLimit;
    phase = RulePhase{static_cast<std::uint8_t>(static_cast<std::uint8_t>(phase) + 1)};
    iterations = 0;
  }
  return StopReason::IterationLimit;
}

Saturation::ApplyResult Saturation::apply(DirectionId id, const Match& match, std::uint32_t max_operators) {
  const CompiledRule& rule = rules_.rule(id.rule);
  const Direction& direction = rule.directions[id.index];
  if (!binder_.bind(rule, direction, egraph_, match)) return ApplyResult::Inapplicable;
  planned_.resize(rule.registers);
  for (std::size_t v = 0; v < rule.variables.size(); ++v) planned_[v].id = match.variables[v];
  for (std::size_t i = 0; i < direction.matched_nodes.size(); ++i) {
    const PatternNode& node = rule.nodes[direction.matched_nodes[i]];
    for (std::uint32_t o = 0; o < node.outputs; ++o)
      planned_[node.first_output + o].id = egraph_.output(match.matched_nodes[i] / 2, o);
  }
  if (const ApplyResult refusal = plan_right_side(rule, direction, max_operators); refusal != ApplyResult::Merged)
    return refusal;
  build_right_side(rule, direction);

  const auto reason = static_cast<std::uint32_t>(applications_.size());
  bool merged = false;
  for (std::size_t i = 0; i < direction.left.size(); ++i)
    merged |= egraph_.merge(planned_[direction.left[i]].id, planned_[direction.right[i]].id, reason);
  if (!merged) return ApplyResult::AlreadyEqual;
  applications_.push_back({id, static_cast<std::uint32_t>(words_.size())});
  words_.insert(words_.end(), match.variables.begin(), match.variables.end());
  for (const SizeId size : binder_.values()) words_.push_back(static_cast<std::uint32_t>(size));
  words_.insert(words_.end(), match.matched_nodes.begin(), match.matched_nodes.end());
  words_.insert(words_.end(), applier_nodes_.begin(), applier_nodes_.end());
  return ApplyResult::Merged;
}

void Saturation::evaluate_sizes(const PatternNode& node) {
  node_sizes_.clear();
  for (const SizePattern& size : node.sizes) node_sizes_.push_back(binder_.evaluate(size));
}

/// Checks the whole right side before any node of it is added. Merged: it may be built.
Saturation::ApplyResult Saturation::plan_right_side(const CompiledRule& rule, const Direction& direction,
                                                    std::uint32_t max_operators) {
  for (const std::uint32_t index : direction.applier_nodes) {
    ApplyResult refusal{};
    if (!plan_node(rule, index, max_operators, refusal)) return refusal;
  }
  const auto shape = [&](std::uint32_t reg) {
    return planned_[reg].id == no_id ? planned_[reg].shape : egraph_.shape(planned_[reg].id);
  };
  const auto min_size = [&](std::uint32_t reg) {
    return planned_[reg].id == no_id ? planned_[reg].min_size : egraph_.min_term_size(planned_[reg].id);
  };
  for (std::size_t i = 0; i < direction.left.size(); ++i) {
    if (shape(direction.left[i]) != shape(direction.right[i])) return ApplyResult::Inapplicable;
    if (min_size(direction.right[i]) > std::uint64_t{min_size(direction.left[i])} + max_growth_over_class_ &&
        count_distinct_operators(rule, planned_[direction.right[i]]) >
            std::uint64_t{count_distinct_operators(rule, planned_[direction.left[i]])} + max_growth_over_class_)
      return ApplyResult::TooLarge;
  }
  return ApplyResult::Merged;
}

bool Saturation::plan_node(const CompiledRule& rule, std::uint32_t index, std::uint32_t max_operators,
                           ApplyResult& refusal) {
  const PatternNode& node = rule.nodes[index];
  evaluate_sizes(node);
  arguments_.clear();
  argument_shapes_.clear();
  bool all_exist = true;
  std::uint64_t min_size = 1;
  for (const std::uint32_t argument : node.arguments) {
    const PlannedTerm& p = planned_[argument];
    const bool exists = p.id != no_id;
    all_exist &= exists;
    arguments_.push_back(p.id);
    argument_shapes_.push_back(exists ? egraph_.shape(p.id) : p.shape);
    min_size += exists ? egraph_.min_term_size(p.id) : p.min_size;
  }
  const ENodeId known = all_exist ? egraph_.find_node(node.instance, arguments_, node_sizes_) : no_id;
  if (known != no_id) {
    for (std::uint32_t o = 0; o < node.outputs; ++o) planned_[node.first_output + o].id = egraph_.output(known, o);
    return true;
  }
  const auto shapes = egraph_.size_table().infer(node.instance, argument_shapes_, node_sizes_);
  if (!shapes || (min_size > max_operators && count_distinct_operators(rule, {no_id, {}, 0, index}) > max_operators)) {
    refusal = shapes ? ApplyResult::TooLarge : ApplyResult::Inapplicable;
    return false;
  }
  for (std::uint32_t o = 0; o < node.outputs; ++o)
    planned_[node.first_output + o] = {no_id, (*shapes)[o], static_cast<std::uint32_t>(min_size), index};
  return true;
}

/// Counts each operator of a planned term once; an existing class counts as its smallest term.
std::uint32_t Saturation::count_distinct_operators(const CompiledRule& rule, const PlannedTerm& term) {
  ++count_number_;
  visited_.resize(std::max<std::size_t>(visited_.size(), egraph_.node_count()), 0);
  visited_rule_nodes_.resize(std::max(visited_rule_nodes_.size(), rule.nodes.size()), 0);
  return count_operators(rule, term);
}

std::uint32_t Saturation::count_operators(const CompiledRule& rule, const PlannedTerm& term) {
  if (term.id != no_id) return count_operators(term.id);
  if (visited_rule_nodes_[term.node] == count_number_) return 0;
  visited_rule_nodes_[term.node] = count_number_;
  std::uint32_t count = 1;
  for (const std::uint32_t argument : rule.nodes[term.node].arguments)
    count += count_operators(rule, planned_[argument]);
  return count;
}

std::uint32_t Saturation::count_operators(EClassId id) {
  const ENodeId node = egraph_.min_term_node(id);
  if (node == no_id || visited_[node] == count_number_) return 0;
  visited_[node] = count_number_;
  std::uint32_t count = 1;
  for (const EClassId argument : egraph_.arguments(node)) count += count_operators(argument);
  return count;
}

/// Adds the planned nodes and records the nodes of the right side.
void Saturation::build_right_side(const CompiledRule& rule, const Direction& direction) {
  applier_nodes_.clear();
  for (const std::uint32_t index : direction.applier_nodes) {
    const PatternNode& node = rule.nodes[index];
    arguments_.clear();
    for (const std::uint32_t argument : node.arguments) arguments_.push_back(planned_[argument].id);
    evaluate_sizes(node);
    const ENodeId added = egraph_.add_node(node.instance, arguments_, node_sizes_);
    RM_CHECK(added != no_id, "a right side that types is built");
    for (std::uint32_t o = 0; o < node.outputs; ++o) planned_[node.first_output + o].id = egraph_.output(added, o);
    const std::span<const EClassId> order = egraph_.arguments(added);
    const bool swapped =
        node.commutative && !(egraph_.are_equal(order[0], arguments_[0]) && egraph_.are_equal(order[1], arguments_[1]));
    applier_nodes_.push_back(2 * added + (swapped ? 1 : 0));
  }
}

}  // namespace rulemill::egraph
